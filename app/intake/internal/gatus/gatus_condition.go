package gatus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/expr"
	"github.com/belfry-run/belfry/task"
)

// judging has the settings made from the conditions of one endpoint of Gatus.
type judging struct {
	kind   task.Kind
	status *codes // codes that are right; nil: nothing was said of them
	exprs  []string
	mail   bool     // of DNS: the answers are those of an MX
	answer []string // of DNS: required answers
	expect string   // of TCP and WebSocket: required answer
	days   int      // of a certificate
	host   string   // whose domain may have to be registered
	ending *base.Registration
	loose  map[string]bool
	fits   map[string]*codes // known of the whole file
}

// side is one side of a condition.
type side struct {
	is   sideKind
	text string // of a literal, or the path into the body in jq's language, or the name of a header
}

type sideKind int

const (
	literal sideKind = iota
	ofStatus
	ofTime
	ofIP
	ofConnected
	ofCode
	ofCertificate
	ofDomain
	ofBody
	ofPath
	ofLength
	ofBeing
	ofHeader
	unsayable
)

var placeholders = map[string]sideKind{
	"[STATUS]": ofStatus, "[RESPONSE_TIME]": ofTime, "[IP]": ofIP, "[CONNECTED]": ofConnected, "[DNS_RCODE]": ofCode,
	"[CERTIFICATE_EXPIRATION]": ofCertificate, "[DOMAIN_EXPIRATION]": ofDomain, "[BODY]": ofBody,
}

var operators = []string{" == ", " != ", " <= ", " >= ", " > ", " < "}

// flipped is the operator that means the same with the sides swapped.
var flipped = map[string]string{"==": "==", "!=": "!=", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}

// add takes in one condition, or says why it cannot be said.
func (j *judging) add(text string) (why string) {
	if len(text) > task.MaxCondition {
		return fmt.Sprintf("has more than %d bytes", task.MaxCondition)
	}
	for _, op := range operators {
		left, right, found := strings.Cut(text+" ", op)
		if !found {
			continue
		}
		right, _, _ = strings.Cut(right, op)
		l, r := sideOf(left), sideOf(right)
		op = strings.TrimSpace(op)
		if l.is == literal {
			l, r, op = r, l, flipped[op]
		}
		switch {
		case l.is == literal:
			return "compares two texts"
		case l.is == unsayable || r.is == unsayable:
			return "has something that Belfry has no word for"
		case r.is != literal:
			return j.both(l, op, r)
		}
		return j.one(l, op, r.text)
	}
	return "is not a condition: it has no operator with blanks around it"
}

func sideOf(text string) side {
	text = strings.TrimSpace(text)
	upper := strings.ToUpper(text)
	if is := placeholders[upper]; is != literal {
		return side{is: is}
	}
	for prefix, is := range map[string]sideKind{"len(": ofLength, "has(": ofBeing} {
		inner, called := strings.CutPrefix(text, prefix)
		if !called || !strings.HasSuffix(inner, ")") {
			continue
		}
		s := sideOf(strings.TrimSuffix(inner, ")"))
		switch s.is {
		case ofBody:
			return side{is, "."}
		case ofPath:
			return side{is, s.text}
		}
		return side{is: unsayable}
	}
	switch {
	case strings.HasPrefix(upper, "[BODY].") || strings.HasPrefix(upper, "[BODY]["):
		if path, ok := expr.Path(text[len("[BODY]"):]); ok {
			return side{ofPath, path}
		}
		return side{is: unsayable}
	case strings.HasPrefix(upper, "[HEADER]."):
		return side{ofHeader, text[len("[HEADER]."):]}
	case strings.HasPrefix(upper, "[CONTEXT]"), strings.HasPrefix(text, "age("):
		return side{is: unsayable}
	}
	return side{literal, text}
}

// both compares two parts of a body.
func (j *judging) both(l side, op string, r side) string {
	if !j.hasJSON() || l.is != ofPath || r.is != ofPath {
		return "compares two things of which Belfry can compare one with a fixed text"
	}
	if op != "==" && op != "!=" {
		j.expr("%s %s %s", expr.Number(l.text), op, expr.Number(r.text))
		return ""
	}
	j.expr("%s %s %s", expr.Text(l.text), op, expr.Text(r.text))
	return ""
}

func (j *judging) hasJSON() bool { return j.kind == task.KindHTTP || j.kind == task.KindWebSocket }

func (j *judging) expr(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(j.exprs, text) {
		j.exprs = append(j.exprs, text)
	}
}

// one compares a part of an answer with a fixed text.
func (j *judging) one(l side, op, text string) string {
	switch l.is {
	case ofStatus:
		return j.statusIs(op, text)
	case ofTime:
		return j.lasts(op, text)
	case ofIP:
		return j.textual("ip", op, text)
	case ofConnected:
		return means(op, text, "true", base.Inverted)
	case ofCode:
		if j.kind != task.KindDNS {
			return "is about DNS, and this endpoint is not"
		}
		return means(op, text, "NOERROR", "wants a look-up to fail, which no monitor of Belfry means by up")
	case ofCertificate:
		return j.certificate(op, text)
	case ofDomain:
		return j.registration(op, text)
	case ofHeader:
		if !j.hasJSON() {
			return "is about headers, and this endpoint has none"
		}
		return j.textual("header("+expr.Quote(l.text)+")", op, text)
	case ofBody:
		return j.bodyIs(op, text)
	}
	if !j.hasJSON() {
		return "is about JSON, which an answer of this kind is not read as"
	}
	return j.pathIs(l, op, text)
}

// means drops a condition that Belfry checks by default.
func means(op, text, granted, otherwise string) string {
	if op == "==" && strings.EqualFold(text, granted) || op == "!=" && granted == "true" && strings.EqualFold(text, "false") {
		return ""
	}
	return otherwise
}

func (j *judging) pathIs(l side, op, text string) string {
	switch l.is {
	case ofLength:
		n, ok := integer(text)
		if !ok {
			return "compares a length with what is not a number"
		}
		j.loose["len"] = true
		j.expr("jq(%s) %s %d", expr.Quote(expr.Join(l.text, "length")), op, n)
	case ofBeing:
		want := strings.EqualFold(text, "true")
		if !want && !strings.EqualFold(text, "false") || op != "==" && op != "!=" {
			return "compares has() with neither true nor false"
		}
		if want == (op == "==") {
			j.expr("jq(%s) != nil", expr.Quote(l.text))
		} else {
			j.expr("jq(%s) == nil", expr.Quote(l.text))
		}
	default:
		if op == "==" || op == "!=" {
			return j.textual(expr.Value(l.text, text), op, text)
		}
		n, ok := integer(text)
		if !ok {
			return "orders what is not a number"
		}
		j.expr("%s %s %d", expr.Number(l.text), op, n)
	}
	return ""
}
