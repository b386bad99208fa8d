package cron

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/fields"
	"github.com/belfry-run/belfry/cron/internal/foreign"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// maxExpr is the longest expression read, in bytes; longer than any person writes.
const maxExpr = 1024

// macros are the nicknames of cron(8), except @every and @reboot.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads a cron expression: five fields (minute hour day month weekday), six (seconds first) or seven (seconds
// first, year last); a macro (@yearly @annually @monthly @weekly @daily @midnight @hourly); or "@every 90m". A prefix
// CRON_TZ=Zone or TZ=Zone sets the zone.
//
// A field is a comma list of: * or ? (all), a, a-b (which may wrap: FRI-MON, 22-2), a-b/n, a/n (to the end), */n, names
// in any case, H (a stable hash of Options.Seed), H(a-b), H/n, H(a-b)/n. Day of month also: L (the last day), L-n (n
// days earlier), nW (the workday nearest to n), LW, L-nW. Weekday also: 0 or 7 for Sunday, 5L or FRIL (the last Friday),
// 5#3 (the third Friday).
//
// When both day fields are restricted a day needs to match only one of them, as in crontab(5); a field that starts
// with * counts as unrestricted, and then both must match, as in Vixie cron. A + before the weekday field
// ("0 9 1-7 * +MON") asks for both always.
//
// Every error is an [*Error]. Text that can be read in two ways, and rules that never match, are refused.
func Parse(expr string, o Options) (*Expr, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &parser{text: expr, opts: o}
	e, err := p.parse()
	if err != nil {
		return nil, err
	}
	if err := e.checkDue(o); err != nil {
		return nil, err
	}
	return e, nil
}

// parser is the state of one Parse.
type parser struct {
	text string
	opts Options
	zone string // normal form of the zone prefix, with a space behind it
	cols []fields.Column
}

// word is a piece of the text and the column it starts in, from 1.
type word struct {
	text string
	pos  int
}

func (p *parser) parse() (*Expr, error) {
	if len(p.text) > maxExpr {
		return nil, &Error{Field: "expression", Value: p.text, Msg: "is longer than 1024 bytes"}
	}
	words, err := p.prefix(split(p.text))
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, &Error{Field: "expression", Msg: "is empty", Hint: `try "0 9 * * MON-FRI" or "@daily"`}
	}
	read := p.fields
	if words[0].text[0] == '@' {
		read = p.macro
	}
	e, err := read(words)
	if err != nil {
		if other := foreign.Refuse(p.text, parses); other != nil {
			return nil, other
		}
	}
	return e, err
}

// parses reports whether a text is an expression.
func parses(text string) bool {
	_, err := Parse(text, Options{})
	return err == nil
}

// split cuts at white space, keeping columns.
func split(s string) []word {
	var list []word
	start := -1
	for i := 0; i <= len(s); i++ {
		blank := i == len(s) || s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r'
		switch {
		case !blank && start < 0:
			start = i
		case blank && start >= 0:
			list = append(list, word{s[start:i], start + 1})
			start = -1
		}
	}
	return list
}

// prefix takes CRON_TZ= and TZ= off.
func (p *parser) prefix(words []word) ([]word, error) {
	for len(words) > 0 {
		key, name, ok := strings.Cut(words[0].text, "=")
		if !ok || key != "TZ" && key != "CRON_TZ" {
			break
		}
		if p.zone != "" {
			return nil, &Error{Field: "zone", Value: words[0].text, Pos: words[0].pos, Msg: "is a second zone; an expression has one"}
		}
		if name == "" {
			return nil, &Error{Field: "zone", Value: words[0].text, Pos: words[0].pos, Msg: "has no name", Hint: `write ` + key + `=Europe/Sofia, or leave it out`}
		}
		loc, err := LoadZone(name)
		if err != nil {
			refusal.As(err).Pos = words[0].pos + len(key) + 1
			return nil, err
		}
		p.opts.Zone, p.zone = loc, "CRON_TZ="+loc.String()+" "
		words = words[1:]
	}
	return words, nil
}

// macro reads @daily and its kin, and @every.
func (p *parser) macro(words []word) (*Expr, error) {
	name := strings.ToLower(words[0].text)
	if name == "@every" {
		return p.every(words)
	}
	if len(words) > 1 {
		return nil, &Error{Field: "macro", Value: words[1].text, Pos: words[1].pos, Msg: "does not belong behind " + name}
	}
	if text, ok := macros[name]; ok {
		return p.fields(split(text))
	}
	e := &Error{Field: "macro", Value: words[0].text, Pos: words[0].pos, Msg: "is not known"}
	if name == "@reboot" {
		e.Msg = "names an event, not a time"
		e.Hint = `a schedule has no reboot; use "@every" or start the task from the boot itself`
		return nil, e
	}
	known := append(slices.Sorted(maps.Keys(macros)), "@every")
	e.Hint = spell.DidYouMean(spell.Nearest(name, known), "the macros are "+strings.Join(known, " "))
	return nil, e
}

func (p *parser) every(words []word) (*Expr, error) {
	e := &Error{Field: "@every", Pos: words[0].pos, Hint: `write for example "@every 5m" or "@every 1h30m"`}
	if len(words) != 2 {
		e.Msg = "needs one duration"
		return nil, e
	}
	e.Value, e.Pos = words[1].text, words[1].pos
	d, ok := spell.ReadDuration(strings.ToLower(words[1].text))
	if !ok {
		e.Msg = "is not a duration above zero"
		return nil, e
	}
	every, err := NewEvery(d, time.Unix(0, 0).In(p.opts.zone()), p.opts.Seed)
	if err != nil {
		refusal.As(err).Pos = e.Pos
		return nil, err
	}
	return &Expr{every: every, text: p.zone + every.String(), clock: wall.Clock{Loc: p.opts.zone()}}, nil
}

func (p *parser) fields(words []word) (*Expr, error) {
	columns := fields.Layout(len(words))
	if columns == nil {
		return nil, p.wrongCount(words)
	}
	if err := p.ambiguous(words); err != nil {
		return nil, err
	}
	for i, w := range words {
		col, err := fields.Read(columns[i], w.text, w.pos)
		if err != nil {
			return nil, p.explainError(err, words)
		}
		p.cols = append(p.cols, col)
	}
	if err := p.quartz(words); err != nil {
		return nil, err
	}
	return p.build(), nil
}

// build makes the expression of the columns.
func (p *parser) build() *Expr {
	rule, open := fields.NewRule(p.cols, p.opts.Seed)
	e := &Expr{rule: rule, clock: p.opts.clock(wall.Fixed), text: p.zone + fields.Join(p.cols)}
	if open {
		e.clock.Seams = wall.RealTime
	}
	return e
}

// checkDue refuses a rule that has no occurrence after o.After, in bounded time.
func (e *Expr) checkDue(o Options) error {
	if e.every != nil {
		return nil
	}
	from := time.Unix(civil.MinSec, 0).UTC()
	if o.After.After(from) {
		from = o.After
	}
	if !e.Next(from).IsZero() {
		return nil
	}
	err := refusal.Never(&Error{Field: "expression", Value: e.text, Msg: "never matches"})
	if !o.After.IsZero() && !e.Next(time.Unix(civil.MinSec, 0)).IsZero() {
		err.Msg = "never matches after " + o.After.In(e.clock.Loc).Format("2006-01-02 15:04")
		err.Hint = "its last time was " + e.Prev(o.After).Format("2006-01-02 15:04 MST")
		return err
	}
	err.Hint = e.whyNever()
	return err
}

// whyNever returns the reason why the rule never matches.
func (e *Expr) whyNever() string {
	if e.rule.WallFrom(civil.MinSec) != civil.None {
		return "all its times fall into hours that the clock skips; use dst_gap run_after or another hour"
	}
	return e.rule.WhyNever()
}
