package gatus

import (
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/expr"
	"github.com/belfry-run/belfry/task"
)

// bodyIs compares the whole body.
func (j *judging) bodyIs(op, text string) string {
	switch j.kind {
	case task.KindDNS:
		return j.answerIs(op, text)
	case task.KindTCP, task.KindUDP, task.KindWebSocket:
		if op == "==" && j.expect == "" {
			if rule, ok := expr.Wanted(text); ok {
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
		j.expr("%s %s %d", expr.Number("."), op, n)
		return ""
	}
	if _, isGlob := expr.Call(text, "pat("); isGlob {
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
	if list, called := expr.Call(text, "any("); called && op == "==" {
		j.expr("any(answers, %s in [%s])", answer, expr.QuoteAll(list))
		return ""
	}
	if op != "==" {
		return "wants an answer not to come, which depends on which is the last of them"
	}
	if inner, called := strings.CutPrefix(text, "pat("); called && strings.HasSuffix(inner, ")") {
		test, ok := expr.Glob(answer, strings.TrimSuffix(inner, ")"))
		if !ok {
			return expr.BadGlob
		}
		if test != "" {
			j.expr("any(answers, %s)", test)
		}
		return ""
	}
	if j.mail {
		j.expr("any(answers, %s == %s)", answer, expr.Quote(text))
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
		test, ok := expr.Glob(subject, strings.TrimSuffix(inner, ")"))
		switch {
		case !ok:
			return expr.BadGlob
		case test == "" && op == "!=":
			return "can never hold"
		case test != "":
			j.expr("%s", not(test))
		}
		return ""
	}
	if list, called := expr.Call(text, "any("); called {
		j.expr("%s", not(subject+" in ["+expr.QuoteAll(list)+"]"))
		return ""
	}
	j.expr("%s %s %s", subject, op, expr.Quote(text))
	return ""
}
