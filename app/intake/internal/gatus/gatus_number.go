package gatus

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/expr"
	"github.com/belfry-run/belfry/task"
)

// integer reads what Gatus reads as a number: a length of time is so many
// milliseconds.
func integer(text string) (int64, bool) {
	if d, err := time.ParseDuration(text); err == nil && d != 0 {
		return d.Milliseconds(), true
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, true
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < 1<<53 {
		return int64(f), true
	}
	return 0, false
}

func (j *judging) lasts(op, text string) string {
	n, ok := integer(text)
	if !ok || n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
		return "compares a time with what is none"
	}
	j.loose["latency"] = true
	j.expr("latency %s duration('%s')", op, time.Duration(n)*time.Millisecond)
	return ""
}

// certificate compares days. Belfry counts whole ones: a certificate that ends in 2
// days and 5 hours has 2 left, so more than 48h is at least 2.
func (j *judging) certificate(op, text string) string {
	n, ok := integer(text)
	switch {
	case !slices.Contains([]task.Kind{task.KindHTTP, task.KindTLS, task.KindWebSocket, task.KindGRPC}, j.kind):
		return "is about a certificate, and this endpoint has none"
	case !ok || n < 0:
		return "compares a time with what is none"
	case op == "==" || op == "!=":
		return "wants a certificate to end at one exact time"
	}
	days := wholeDays(n)
	if more := op == ">" || op == ">="; more && j.kind == task.KindTLS && days > 0 {
		j.days = max(j.days, days)
	} else if more {
		j.expr("cert_days >= %d", days)
	} else {
		j.expr("cert_days < %d", days)
	}
	return ""
}

// wholeDays are milliseconds in days, rounded up.
func wholeDays(ms int64) int {
	const day = int64(24 * time.Hour / time.Millisecond)
	return int((ms + day - 1) / day)
}

// registration compares days as for a certificate. A monitor of its own does, because a registry is asked seldom.
func (j *judging) registration(op, text string) string {
	n, ok := integer(text)
	domain := base.RegisteredDomain(j.host)
	switch {
	case domain == "":
		return "is about the registration of a domain, and the host is not below one"
	case !ok || n < 0:
		return "compares a time with what is none"
	case op != ">" && op != ">=":
		return "wants a registration to end"
	}
	days := wholeDays(n)
	if j.ending != nil {
		days = max(days, j.ending.FailDays)
	}
	j.ending = &base.Registration{Domain: domain, FailDays: days, WarnDays: -1}
	return ""
}

// codes are those of HTTP that fit something.
type codes [600]bool

// statusIs narrows the codes that are right.
func (j *judging) statusIs(op, text string) string {
	if j.kind != task.KindHTTP {
		return "is about a status, and this endpoint has none"
	}
	fit, known := j.fits[op+text] // endpoints often say the same, and by aliases without end
	if !known {
		fit = fitting(op, text)
		j.fits[op+text] = fit
	}
	if fit == nil {
		return "compares a status with what is none"
	}
	right := *fit
	if j.status != nil {
		for code := range right {
			right[code] = right[code] && j.status[code]
		}
	}
	j.status = &right
	return ""
}

// fitting is the codes that fit, or nil when no code is asked for.
func fitting(op, text string) *codes {
	var fits func(code int) bool
	n, isNumber := integer(text)
	list, isList := expr.Call(text, "any(")
	inner, isGlob := strings.CutPrefix(text, "pat(")
	switch equal := op == "=="; {
	case isGlob || isList:
		if !equal && op != "!=" {
			return nil
		}
		rule, ok := expr.GlobRule(strings.TrimSuffix(inner, ")"))
		if isGlob && !ok {
			return nil
		}
		among := map[string]bool{}
		for _, item := range list {
			among[item] = true
		}
		fits = func(code int) bool {
			is := strconv.Itoa(code)
			return equal == (isGlob && rule.MatchString(is) || among[is])
		}
	case isNumber:
		fits = func(code int) bool {
			c := cmp.Compare(int64(code), n)
			return map[string]bool{"==": c == 0, "!=": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[op]
		}
	default:
		return nil
	}
	var right codes
	for code := 100; code < 600; code++ {
		right[code] = fits(code)
	}
	return &right
}

// statusRanges writes the accepted codes as short as possible. Without a condition
// on them, Gatus accepts every code, which is not Belfry's default.
func (j *judging) statusRanges() []string {
	if j.status == nil {
		return []string{"100-599"}
	}
	var list []string
	for code := 100; code < 600; code++ {
		if !j.status[code] {
			continue
		}
		from := code
		for code+1 < 600 && j.status[code+1] {
			code++
		}
		if from == code {
			list = append(list, strconv.Itoa(code))
		} else {
			list = append(list, fmt.Sprintf("%d-%d", from, code))
		}
	}
	return list
}
