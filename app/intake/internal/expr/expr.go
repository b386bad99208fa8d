// Package expr translates conditions of other monitors into expressions of
// Belfry's conditions, paths of jq, and regular expressions. The packages gatus and
// kuma share it. All functions are pure.
package expr

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	plainKey   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	indexRule  = regexp.MustCompile(`^\[([0-9]{1,9})\]`)
	keyEndRule = regexp.MustCompile(`[.\[]`)
	wordRule   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_ .:/-]*$`)
)

// Path writes a path such as .data[0].user-id in jq's language.
func Path(path string) (string, bool) {
	var b strings.Builder
	for path != "" {
		if at := indexRule.FindString(path); at != "" {
			if b.Len() == 0 {
				b.WriteByte('.')
			}
			b.WriteString(at)
			path = path[len(at):]
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := len(path)
		if at := keyEndRule.FindStringIndex(path); at != nil {
			end = at[0]
		}
		key := path[:end]
		switch {
		case key == "" || strings.ContainsAny(key, "]*?()\"'\\ "):
			return "", false
		case plainKey.MatchString(key):
			b.WriteString("." + key)
		default:
			b.WriteString(`."` + key + `"`)
		}
		path = path[end:]
	}
	return b.String(), b.Len() > 0
}

// Join puts a filter behind a path of jq.
func Join(path, filter string) string {
	if path == "." {
		return filter
	}
	return path + " | " + filter
}

// Value is a value of the body, to be compared with a text. Only a word that no
// number or other value is written like can do without making it a text first.
func Value(path, text string) string {
	if wordRule.MatchString(text) && text != "true" && text != "false" && text != "null" {
		return "jq(" + Quote(path) + ")"
	}
	return Text(path)
}

// Text is a value of the body as Gatus compares it: as text, of any type.
func Text(path string) string { return "jq(" + Quote(Join(path, "tostring")) + ")" }

// Number is a value as Gatus orders it: other types count as 0.
func Number(path string) string { return "jq(" + Quote(Join(path, "tonumber? // 0")) + ")" }

// Call is the list of arguments of a function.
func Call(text, prefix string) ([]string, bool) {
	inner, called := strings.CutPrefix(text, prefix)
	if !called || !strings.HasSuffix(inner, ")") {
		return nil, false
	}
	list := strings.Split(strings.TrimSuffix(inner, ")"), ",")
	for i, item := range list {
		list[i] = strings.TrimSpace(item)
	}
	return list, true
}

const BadGlob = "has a pattern with [ or \\ in it"

// Glob writes a pattern as an expression; empty when everything fits.
func Glob(subject, pattern string) (test string, ok bool) {
	if pattern == "*" {
		return "", true
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(pattern, "*"), "*")
	if !strings.ContainsAny(inner, `*?[\`) {
		switch starts, ends := !strings.HasPrefix(pattern, "*"), !strings.HasSuffix(pattern, "*"); {
		case starts && ends:
			return subject + " == " + Quote(inner), true
		case starts:
			return subject + " startsWith " + Quote(inner), true
		case ends:
			return subject + " endsWith " + Quote(inner), true
		}
		return subject + " contains " + Quote(inner), true
	}
	rule, ok := globText(pattern)
	return subject + " matches " + Quote(rule), ok
}

// globText is a pattern as a regular expression: * is any text, and ? any one
// character.
func globText(pattern string) (string, bool) {
	if strings.ContainsAny(pattern, `[\`) {
		return "", false
	}
	return "(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$", true
}

func GlobRule(pattern string) (*regexp.Regexp, bool) {
	text, ok := globText(pattern)
	if !ok {
		return nil, false
	}
	rule, err := regexp.Compile(text)
	return rule, err == nil
}

// Wanted is a regular expression for the expected answer.
func Wanted(text string) (string, bool) {
	if inner, called := strings.CutPrefix(text, "pat("); called && strings.HasSuffix(inner, ")") {
		rule, ok := globText(strings.TrimSuffix(inner, ")"))
		rule = strings.TrimSuffix(strings.TrimPrefix(rule, "(?s)^"), "$")
		if trimmed := strings.TrimSuffix(strings.TrimPrefix(rule, ".*"), ".*"); trimmed != "" && strings.HasPrefix(rule, ".*") && strings.HasSuffix(rule, ".*") {
			return "(?s)" + trimmed, ok
		}
		return `(?s)^\s*` + rule + `\s*$`, ok
	}
	if list, called := Call(text, "any("); called {
		for i, item := range list {
			list[i] = regexp.QuoteMeta(item)
		}
		return `^\s*(?:` + strings.Join(list, "|") + `)\s*$`, true
	}
	return `^\s*` + regexp.QuoteMeta(text) + `\s*$`, true
}

// Quote writes a text for an expression.
func Quote(text string) string {
	if !strings.ContainsAny(text, "'\\\n\r\t") && strconv.CanBackquote(text) {
		return "'" + text + "'"
	}
	return strconv.Quote(text)
}

func QuoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, item := range list {
		quoted[i] = Quote(item)
	}
	return strings.Join(quoted, ", ")
}
