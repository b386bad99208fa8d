package intake

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/task"
)

// bodyIs compares the whole of what came back.
func (j *judging) bodyIs(op, text string) string {
	switch j.kind {
	case task.KindDNS:
		return j.answerIs(op, text)
	case task.KindTCP, task.KindWebSocket:
		if op == "==" && j.expect == "" {
			if rule, ok := wantedRule(text); ok {
				j.expect = rule
				return ""
			}
		}
	case task.KindHTTP:
	default:
		return "is about a body, and an answer of this kind has none"
	}
	if op != "==" && op != "!=" {
		n, ok := integer(text)
		if !ok {
			return "orders what is not a number"
		}
		if !j.hasJSON() {
			return "orders a text as a number"
		}
		j.expr("%s %s %d", number("."), op, n)
		return ""
	}
	if _, isGlob := call(text, "pat("); isGlob {
		return j.textual("body", op, text)
	}
	return j.textual("trim(body)", op, text)
}

// answerIs compares an answer of a name server. Gatus knows the last one of
// them, and of an MX its host alone.
func (j *judging) answerIs(op, text string) string {
	answer := "#"
	if j.mail {
		answer = "last(split(#, ' '))"
	}
	if list, called := call(text, "any("); called && op == "==" {
		j.expr("any(answers, %s in [%s])", answer, quoteAll(list))
		return ""
	}
	if op != "==" {
		return "wants an answer not to come, which depends on which is the last of them"
	}
	if inner, called := strings.CutPrefix(text, "pat("); called && strings.HasSuffix(inner, ")") {
		test, ok := globExpr(answer, strings.TrimSuffix(inner, ")"))
		if !ok {
			return badGlob
		}
		if test != "" {
			j.expr("any(answers, %s)", test)
		}
		return ""
	}
	if j.mail {
		j.expr("any(answers, %s == %s)", answer, quote(text))
	} else {
		j.answer = append(j.answer, text)
	}
	return ""
}

// textual compares a text: with a pattern, one of a list, or a fixed one.
func (j *judging) textual(subject, op, text string) string {
	if op != "==" && op != "!=" {
		return "orders texts"
	}
	not := func(test string) string {
		if op == "==" {
			return test
		}
		return "not (" + test + ")"
	}
	if inner, called := strings.CutPrefix(text, "pat("); called && strings.HasSuffix(inner, ")") {
		test, ok := globExpr(subject, strings.TrimSuffix(inner, ")"))
		switch {
		case !ok:
			return badGlob
		case test == "" && op == "!=":
			return "can never hold"
		case test != "":
			j.expr("%s", not(test))
		}
		return ""
	}
	if list, called := call(text, "any("); called {
		j.expr("%s", not(subject+" in ["+quoteAll(list)+"]"))
		return ""
	}
	j.expr("%s %s %s", subject, op, quote(text))
	return ""
}

// call is the list of arguments of a function.
func call(text, prefix string) ([]string, bool) {
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

const badGlob = "has a pattern with [ or \\ in it"

// globExpr writes a pattern as an expression; empty when everything fits.
func globExpr(subject, pattern string) (test string, ok bool) {
	if pattern == "*" {
		return "", true
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(pattern, "*"), "*")
	if !strings.ContainsAny(inner, `*?[\`) {
		switch starts, ends := !strings.HasPrefix(pattern, "*"), !strings.HasSuffix(pattern, "*"); {
		case starts && ends:
			return subject + " == " + quote(inner), true
		case starts:
			return subject + " startsWith " + quote(inner), true
		case ends:
			return subject + " endsWith " + quote(inner), true
		}
		return subject + " contains " + quote(inner), true
	}
	rule, ok := globText(pattern)
	return subject + " matches " + quote(rule), ok
}

// globText is a pattern as a regular expression: * is any text, and ? any one
// character.
func globText(pattern string) (string, bool) {
	if strings.ContainsAny(pattern, `[\`) {
		return "", false
	}
	return "(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$", true
}

func globRule(pattern string) (*regexp.Regexp, bool) {
	text, ok := globText(pattern)
	if !ok {
		return nil, false
	}
	rule, err := regexp.Compile(text)
	return rule, err == nil
}

// wantedRule is a regular expression for what is to come back.
func wantedRule(text string) (string, bool) {
	if inner, called := strings.CutPrefix(text, "pat("); called && strings.HasSuffix(inner, ")") {
		rule, ok := globText(strings.TrimSuffix(inner, ")"))
		rule = strings.TrimSuffix(strings.TrimPrefix(rule, "(?s)^"), "$")
		if trimmed := strings.TrimSuffix(strings.TrimPrefix(rule, ".*"), ".*"); trimmed != "" && strings.HasPrefix(rule, ".*") && strings.HasSuffix(rule, ".*") {
			return "(?s)" + trimmed, ok
		}
		return `(?s)^\s*` + rule + `\s*$`, ok
	}
	if list, called := call(text, "any("); called {
		for i, item := range list {
			list[i] = regexp.QuoteMeta(item)
		}
		return `^\s*(?:` + strings.Join(list, "|") + `)\s*$`, true
	}
	return `^\s*` + regexp.QuoteMeta(text) + `\s*$`, true
}

// quote writes a text for an expression.
func quote(text string) string {
	if !strings.ContainsAny(text, "'\\\n\r\t") && strconv.CanBackquote(text) {
		return "'" + text + "'"
	}
	return strconv.Quote(text)
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, item := range list {
		quoted[i] = quote(item)
	}
	return strings.Join(quoted, ", ")
}
