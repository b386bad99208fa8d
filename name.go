package belfry

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// DefaultNamespace owns everything when nobody asks for more.
const DefaultNamespace = "default"

// AnyNamespace is what a token or a worker has that serves all of them.
const AnyNamespace = "*"

// nameRule is what names of tasks, schedules, queues and namespaces look like.
// They appear in URLs, metrics and file names, so they stay plain.
var nameRule = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$`)

const nameHint = "use 1 to 128 letters, digits, dots, dashes and underscores, starting with a letter or digit"

func checkName(p *problems, field, name string) {
	switch {
	case name == "":
		p.add(field, "", "is missing", nameHint)
	case !nameRule.MatchString(name):
		p.add(field, name, "is not a name", nameHint)
	}
}

// CheckName says what is wrong with a name given in field, or nil.
func CheckName(field, name string) error {
	var p problems
	checkName(&p, field, name)
	return p.err("invalid name")
}

// Limits of what people write. Each is large enough not to be met by accident
// and small enough that a thousand of them do not hurt.
const (
	MaxDescription = 4 << 10   // bytes of a description or note
	MaxTags        = 32        // tags of a task or job
	MaxInput       = 256 << 10 // bytes of a job's input
	MaxOutput      = 1 << 20   // bytes of a job's output value
	MaxError       = 16 << 10  // bytes of an attempt's error text
	MaxKey         = 256       // bytes of an idempotency key or active key
	MaxBatch       = 10_000    // jobs in one enqueue, claim or finish
	MinPriority    = -1000
	MaxPriority    = 1000
)

func checkTags(p *problems, tags []string) {
	if len(tags) > MaxTags {
		p.addf("tags", len(tags), "has more than %d entries", MaxTags)
	}
	for _, tag := range tags {
		if !nameRule.MatchString(tag) {
			p.add("tags", tag, "is not a tag", nameHint)
		}
	}
}

func checkPriority(p *problems, n int) {
	if n < MinPriority || n > MaxPriority {
		p.addf("priority", n, "is outside %d to %d", MinPriority, MaxPriority)
	}
}

// checkNUL refuses what no program can be given as an argument or a variable.
func checkNUL(p *problems, field, text string) {
	if strings.ContainsRune(text, 0) {
		p.add(field, "", "contains a NUL byte", "")
	}
}

// CleanText makes foreign bytes fit for a text column: invalid UTF-8 becomes
// the replacement character and NUL, which PostgreSQL refuses, disappears.
// The result has at most limit bytes and ends at a whole character.
func CleanText(s string, limit int) (text string, cut bool) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.ReplaceAll(s, "\x00", "")
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit], true
}
