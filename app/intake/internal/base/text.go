package base

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func Clip(s string) string {
	short, cut := core.CleanText(s, 80)
	if cut {
		short += "…"
	}
	return short
}

func Truth(t *tree.Tree) bool { return strings.EqualFold(t.Text, "true") }

// CheckVariable returns why a variable cannot be set for a command, or nothing.
func CheckVariable(name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return "is not the name of an environment variable"
	case strings.HasPrefix(name, "BELFRY_"):
		return "is reserved: names that start with BELFRY_ are set by the worker"
	}
	return ""
}

func OrWord(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

// Slug writes a text as a part of a name.
func Slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._", r) {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && s[len(s)-1] != '-' {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-._")
}

// CutText shortens a plain text to a valid end of a name.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	short, _ := core.CleanText(s, limit)
	return strings.TrimRight(short, "-._")
}

// VariableName is a variable of the environment in a value.
var VariableName = regexp.MustCompile(`\$(?:\$|\{[^}]*\}|[A-Za-z0-9_]+)`)

// Numbered is a part of a path.
func Numbered(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Addresses are those of a list with commas.
func Addresses(text string) []string {
	var list []string
	for to := range strings.SplitSeq(text, ",") {
		if to = strings.TrimSpace(to); to != "" {
			list = append(list, to)
		}
	}
	return list
}

// Whole is a whole number from 0, or the default.
func Whole(t *tree.Tree, otherwise int) int {
	n, err := strconv.ParseFloat(t.Text, 64)
	if err != nil || n < 0 || n > math.MaxInt32 || n != math.Trunc(n) {
		return otherwise
	}
	return int(n)
}

func IsTrue(t *tree.Tree) bool { return Truth(t) || t.Text == "1" }

// WithHeader adds a header, unless it is there in any spelling.
func WithHeader(h map[string]string, name, value string) map[string]string {
	for known := range h {
		if textproto.CanonicalMIMEHeaderKey(known) == textproto.CanonicalMIMEHeaderKey(name) {
			return h
		}
	}
	if h == nil {
		h = map[string]string{}
	}
	h[name] = value
	return h
}

// Authorize moves credentials out of the headers, where all readers see them.
func Authorize(h *task.HTTP) {
	for name, value := range h.Headers {
		if !strings.EqualFold(name, "Authorization") || h.Auth != nil {
			continue
		}
		kind, rest, _ := strings.Cut(value, " ")
		var a task.HTTPAuth
		switch {
		case strings.EqualFold(kind, "Bearer") && rest != "" && !strings.ContainsAny(rest, " \r\n\x00"):
			a.Bearer = core.Secret(rest)
		case strings.EqualFold(kind, "Basic"):
			pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
			user, password, isPair := strings.Cut(string(pair), ":")
			if err != nil || !isPair || user == "" || !Plain(string(pair)) {
				continue
			}
			a.User, a.Password = user, core.Secret(password)
		default:
			continue
		}
		h.Auth = &a
		delete(h.Headers, name)
	}
	if len(h.Headers) == 0 {
		h.Headers = nil
	}
}

// Inverted is why a condition that wants a target to be broken is refused.
const Inverted = "wants the target not to answer, which no monitor of Belfry means by up"

// Pinged is the host to ping, from a host or a URL.
func Pinged(text string) string {
	if _, rest, isURL := strings.Cut(text, "://"); isURL {
		text = HostOf("http://" + rest)
	}
	return strings.Trim(text, "[]")
}
