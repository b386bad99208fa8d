package core

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// DefaultNamespace is the namespace of everything that names no other.
const DefaultNamespace = "default"

// AnyNamespace is the namespace of a token or worker for all namespaces.
const AnyNamespace = "*"

// NameRule matches valid names. Names are plain because they appear in URLs, metrics and file names.
var NameRule = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$`)

const NameHint = "use 1 to 128 letters, digits, dots, dashes and underscores, starting with a letter or digit" // of names that [CheckName] refuses

// CheckName checks that name matches [NameRule].
func CheckName(p *Problems, field, name string) {
	switch {
	case name == "":
		p.Add(field, "", "is missing", NameHint)
	case !NameRule.MatchString(name):
		p.Add(field, name, "is not a name", NameHint)
	}
}

// ValidName returns an error about field if name is invalid.
func ValidName(field, name string) error {
	var p Problems
	CheckName(&p, field, name)
	return p.Err("invalid name")
}

// Limits of values of users. Each is too large to be reached by accident, and a thousand such values do no harm.
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

// CheckTags checks that tags are at most [MaxTags] names.
func CheckTags(p *Problems, tags []string) {
	p.AtMost("tags", len(tags), MaxTags)
	for _, tag := range tags {
		if !NameRule.MatchString(tag) {
			p.Add("tags", tag, "is not a tag", NameHint)
		}
	}
}

// CheckPriority checks that a priority is from [MinPriority] to [MaxPriority].
func CheckPriority(p *Problems, n int) {
	if n < MinPriority || n > MaxPriority {
		p.Addf("priority", n, "is outside %d to %d", MinPriority, MaxPriority)
	}
}

// CheckNUL refuses a NUL byte, which arguments and environment variables cannot contain.
func CheckNUL(p *Problems, field, text string) {
	if strings.ContainsRune(text, 0) {
		p.Add(field, "", "contains a NUL byte", "")
	}
}

// IsText reports whether both databases store s unchanged: it is UTF-8 without NUL, which PostgreSQL refuses.
func IsText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// CleanText converts foreign bytes to a text in the sense of [IsText]: invalid UTF-8 becomes the replacement character, and
// NUL is removed. The result has at most limit bytes and ends at a whole character. cut reports whether it was shortened.
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

// CountLimit is the number up to which Belfry counts rows for people. A larger number is shown as "more than".
const CountLimit = 10_000
