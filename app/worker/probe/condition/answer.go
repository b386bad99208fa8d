package condition

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"github.com/belfry-run/belfry/internal/expression"
	"github.com/belfry-run/belfry/task"
)

// Facts are the facts about one answer. A fact without a variable for the kind
// is ignored.
type Facts struct {
	Latency time.Duration
	Phases  task.Phases
	IP      string

	Status    any // a number of HTTP, or the word of a health service
	Header    http.Header
	Body      []byte
	Redirects int
	FinalURL  string
	CertEnd   time.Time // zero: there was no certificate
	Issuer    string
	DomainEnd time.Time // zero: no registration was seen
	TLS       string    // version, such as TLS 1.3

	Answers []string // of DNS
	RCode   string
	TTL     int

	Loss                float64 // of pings, in per cent
	RTT, RTTMin, RTTMax time.Duration

	Text     string // of a page: what was selected
	Elements int
}

// MaxJSON is the largest body that is parsed as JSON, in bytes.
const MaxJSON = 8 << 20

// variable is a variable of conditions.
type variable struct {
	is  types.Type
	get func(a *Answer) (any, error)
}

// of makes a variable from a fact. The language distinguishes durations from
// numbers, so that latency < 500 is refused.
func of[T any](get func(f *Facts) T) variable {
	var sample T
	return variable{is: types.TypeOf(sample), get: func(a *Answer) (any, error) { return get(a.facts), nil }}
}

func function[T any](sample T, make func(a *Answer) T) variable {
	return variable{is: types.TypeOf(sample), get: func(a *Answer) (any, error) { return make(a), nil }}
}

var variables = map[string]variable{
	"latency":      of(func(f *Facts) time.Duration { return f.Latency }),
	"dns_time":     of(func(f *Facts) time.Duration { return f.Phases.DNS.D() }),
	"connect_time": of(func(f *Facts) time.Duration { return f.Phases.Connect.D() }),
	"tls_time":     of(func(f *Facts) time.Duration { return f.Phases.TLS.D() }),
	"first_byte":   of(func(f *Facts) time.Duration { return f.Phases.FirstByte.D() }),
	"transfer":     of(func(f *Facts) time.Duration { return f.Phases.Transfer.D() }),
	"ip":           of(func(f *Facts) string { return f.IP }),
	"redirects":    of(func(f *Facts) int { return f.Redirects }),
	"final_url":    of(func(f *Facts) string { return f.FinalURL }),
	"answers":      of(func(f *Facts) []string { return f.Answers }),
	"rcode":        of(func(f *Facts) string { return f.RCode }),
	"ttl":          of(func(f *Facts) int { return f.TTL }),
	"loss":         of(func(f *Facts) float64 { return f.Loss }),
	"rtt":          of(func(f *Facts) time.Duration { return f.RTT }),
	"rtt_min":      of(func(f *Facts) time.Duration { return f.RTTMin }),
	"rtt_max":      of(func(f *Facts) time.Duration { return f.RTTMax }),
	"issuer":       of(func(f *Facts) string { return f.Issuer }),
	"tls_version":  of(func(f *Facts) string { return f.TLS }),
	"text":         of(func(f *Facts) string { return f.Text }),
	"elements":     of(func(f *Facts) int { return f.Elements }),
	"status":       {is: types.Int, get: func(a *Answer) (any, error) { return a.facts.Status, nil }},
	"cert_days":    {is: types.Int, get: (*Answer).certDays},
	"domain_days": {is: types.Int, get: func(a *Answer) (any, error) {
		return a.daysTo(a.facts.DomainEnd, "domain_days: no registration was seen")
	}},
	"body":   {is: types.String, get: (*Answer).body},
	"json":   {is: types.Any, get: (*Answer).json},
	"header": function(func(string) string { return "" }, func(a *Answer) func(string) string { return a.header }),
	"jq":     function(func(string) (any, error) { return nil, nil }, func(a *Answer) func(string) (any, error) { return a.jq }),
}

// Names returns the variables and functions for conditions of a kind, without
// those of the language.
func Names(kind task.Kind) []string { return strings.Fields(kind.Info().Values) }

// schema returns the types of the variables and functions of a kind.
func schema(kind task.Kind) types.Map {
	m := types.Map{}
	for _, name := range Names(kind) {
		m[name] = variables[name].is
	}
	if kind == task.KindGRPC {
		m["status"] = types.String
	}
	return m
}

// Answer is one answer, prepared for the evaluation of many expressions. It is
// for one goroutine.
type Answer struct {
	facts  *Facts
	now    time.Time
	env    map[string]any
	faults map[string]error
	meter  expression.Meter
	vm     vm.VM

	parsed bool // value and broken are set from the body as JSON
	value  any
	broken error
}

// On returns an answer for facts. The time is for the days of a certificate. All
// expressions on the answer share one [expression.Limit].
func On(f *Facts, now time.Time) *Answer {
	return &Answer{facts: f, now: now, env: map[string]any{}, meter: expression.NewMeter()}
}

// prepare sets the variables that an expression uses. The body is converted to
// text, or parsed as JSON, only if an expression uses it.
func (a *Answer) prepare(uses map[string]bool) {
	for name := range uses {
		if _, done := a.env[name]; done {
			continue
		}
		if f, is := expression.Metered[name]; is {
			a.env[name] = f.Make(&a.meter)
		} else if v, is := variables[name]; is {
			value, err := v.get(a)
			if err != nil {
				if a.faults == nil {
					a.faults = map[string]error{}
				}
				a.faults[name] = err
			}
			a.env[name] = value
		}
	}
}

func (a *Answer) certDays() (any, error) {
	return a.daysTo(a.facts.CertEnd, "cert_days: no certificate was seen")
}

// daysTo returns the whole days until an instant.
func (a *Answer) daysTo(end time.Time, without string) (any, error) {
	if end.IsZero() {
		return nil, errors.New(without)
	}
	left := end.Sub(a.now)
	days := int(left / (24 * time.Hour))
	if left < 0 {
		days-- // an expiry one hour ago is -1, not 0
	}
	return days, nil
}

func (a *Answer) body() (any, error) {
	return strings.ToValidUTF8(string(a.facts.Body), "\uFFFD"), nil
}

// json returns the body as JSON, parsed once.
func (a *Answer) json() (any, error) {
	if !a.parsed {
		a.value, a.broken = a.parse()
		a.parsed = true
	}
	return a.value, a.broken
}

func (a *Answer) parse() (any, error) {
	if len(a.facts.Body) > MaxJSON {
		return nil, fmt.Errorf("json: a body of %d bytes is over the limit of %d", len(a.facts.Body), MaxJSON)
	}
	var v any
	if err := json.Unmarshal(a.facts.Body, &v); err != nil {
		return nil, fmt.Errorf("json: the body is not JSON: %w", err)
	}
	return v, nil
}

func (a *Answer) header(name string) string {
	return strings.ToValidUTF8(strings.Join(a.facts.Header.Values(name), ", "), "\uFFFD")
}

// run evaluates a program.
func (a *Answer) run(p *vm.Program) (any, error) {
	out, err := a.meter.Run(&a.vm, p, a.env)
	if err == nil || errors.Is(err, expression.ErrSpent) {
		return out, err
	}
	for _, name := range []string{"json", "cert_days"} {
		if fault := a.faults[name]; fault != nil {
			return nil, fault
		}
	}
	return nil, expression.Plain(err)
}
