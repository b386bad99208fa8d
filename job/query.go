package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// MaxJobQuery is the longest text of a search for jobs, in bytes.
const MaxJobQuery = 2000

// jobTerm is a kind of term in a search for jobs.
type jobTerm struct {
	name, like string
	set        func(f *Filter, now time.Time, op, value string) error
	show       func(f Filter) []string // values, with their operator if they have one
}

// jobTerms are the terms, in the order in which a filter is written.
var jobTerms []jobTerm

func init() { // avoids a reference cycle of the terms, the parser and its errors
	jobTerms = []jobTerm{
		{"id", "id:1042", setJobID, func(f Filter) []string { return numberTerm(f.ID) }},
		{"state", "state:failed,canceled", setJobStates, showJobStates},
		textTerm("task", "task:backup", func(f *Filter) *string { return &f.Task }),
		textTerm("schedule", "schedule:nightly", func(f *Filter) *string { return &f.Schedule }),
		textTerm("queue", "queue:default", func(f *Filter) *string { return &f.Queue }),
		textTerm("tag", "tag:weekly", func(f *Filter) *string { return &f.Tag }),
		textTerm("kind", "kind:http", func(f *Filter) *string { return (*string)(&f.Kind) }),
		textTerm("trigger", "trigger:manual", func(f *Filter) *string { return (*string)(&f.Trigger) }),
		textTerm("reason", "reason:limit", func(f *Filter) *string { return (*string)(&f.Reason) }),
		textTerm("session", "session:0198…", func(f *Filter) *string { return &f.Session }),
		{"attempt", "attempt>1", setJobAttempt, showJobAttempt},
		textTerm("error", `error:"timed out"`, func(f *Filter) *string { return &f.Error }),
		timeTerm("since", "since:2h", func(f *Filter) *time.Time { return &f.Since }),
		timeTerm("until", "until:2026-03-02T12:00", func(f *Filter) *time.Time { return &f.Until }),
	}
}

// ParseJobFilter parses a search such as
//
//	task:backup state:failed,canceled since:2h error:"timed out" attempt>1
//
// Terms are separated by spaces, and all must match. A number alone is a job ID.
// A time is an age such as 2h or 7d, a date or an instant. Without a zone it is
// in the zone of now. The states live, done and dead stand for several states.
func ParseJobFilter(text string, now time.Time) (Filter, error) {
	var f Filter
	var p core.Problems
	if len(text) > MaxJobQuery {
		return f, core.InvalidField("q", text, fmt.Sprintf("has more than %d bytes", MaxJobQuery), "")
	}
	seen := map[string]bool{}
	for _, term := range splitTerms(text) {
		if err := f.take(term, now, seen); err != nil {
			p.Add("q", term.text, err.Error(), term.hint)
		}
	}
	if len(p) == 0 {
		p.Nest("q", f.Validate())
	}
	return f, p.Err("job search")
}

// writtenTerm is a term as written in a search.
type writtenTerm struct {
	text, name, op, value string
	open                  bool // has a quote that does not end
	hint                  string
}

func (f *Filter) take(w *writtenTerm, now time.Time, seen map[string]bool) error {
	if _, err := strconv.ParseUint(w.text, 10, 63); err == nil {
		w.name, w.op, w.value = "id", ":", w.text
	}
	at := slices.IndexFunc(jobTerms, func(t jobTerm) bool { return t.name == w.name })
	switch {
	case w.open:
		return fmt.Errorf("has a quote that does not end")
	case w.op == "":
		w.hint = "write what it is, such as task:" + w.text + "; terms are " + termNames()
		return fmt.Errorf("is no term")
	case at < 0:
		w.hint = "one of " + termNames()
		return fmt.Errorf("is not a term of a search for jobs")
	case w.value == "":
		w.hint = "such as " + jobTerms[at].like
		return fmt.Errorf("has no value")
	case w.op != ":" && w.name != "attempt":
		w.hint = "such as " + jobTerms[at].like
		return fmt.Errorf("cannot be compared with %s", w.op)
	case seen[w.name+w.op] && w.name != "state":
		w.hint = "keep one of them"
		return fmt.Errorf("is given twice")
	}
	seen[w.name+w.op] = true
	w.hint = "such as " + jobTerms[at].like
	return jobTerms[at].set(f, now, w.op, w.value)
}

func termNames() string {
	names := make([]string, len(jobTerms))
	for i, t := range jobTerms {
		names[i] = t.name
	}
	return strings.Join(names, ", ")
}

// splitTerms splits a search at its spaces, except spaces in quotes.
func splitTerms(text string) []*writtenTerm {
	var terms []*writtenTerm
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			return terms
		}
		w := &writtenTerm{}
		end, quoted := 0, false
		var plain strings.Builder
	scan:
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			switch {
			case r == '"':
				quoted = !quoted
			case quoted && r == '\\' && end+1 < len(text):
				end++
				_, size = utf8.DecodeRuneInString(text[end:])
				plain.WriteString(text[end : end+size])
			case !quoted && unicode.IsSpace(r):
				break scan
			case !quoted && w.op == "" && strings.ContainsRune(":<>=", r):
				w.name, w.op = strings.ToLower(plain.String()), string(r)
				if end+1 < len(text) && r != ':' && text[end+1] == '=' {
					w.op, size = string(r)+"=", 2
				}
				plain.Reset()
			default:
				plain.WriteString(text[end : end+size])
			}
			end += size
		}
		w.text, w.value, w.open = text[:end], plain.String(), quoted
		terms, text = append(terms, w), text[end:]
	}
}

// quoteTerm quotes a value if needed, so that it is parsed back unchanged.
func quoteTerm(value string) string {
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\\' }) {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// String formats the filter for [ParseJobFilter], without its namespace and page.
// Times become instants.
func (f Filter) String() string {
	var out []string
	for _, t := range jobTerms {
		for _, v := range t.show(f) {
			if !strings.HasPrefix(v, ">") && !strings.HasPrefix(v, "<") || t.name != "attempt" {
				v = ":" + v
			}
			out = append(out, t.name+v)
		}
	}
	return strings.Join(out, " ")
}

func textTerm(name, like string, field func(*Filter) *string) jobTerm {
	return jobTerm{name, like, func(f *Filter, _ time.Time, _, value string) error {
		*field(f) = value
		return nil
	}, func(f Filter) []string {
		if v := *field(&f); v != "" {
			return []string{quoteTerm(v)}
		}
		return nil
	}}
}

func setJobID(f *Filter, _ time.Time, _, value string) error {
	id, err := strconv.ParseInt(value, 10, 64)
	if err != nil || id < 1 {
		return fmt.Errorf("is not a job id")
	}
	f.ID = id
	return nil
}

func numberTerm(n int64) []string {
	if n == 0 {
		return nil
	}
	return []string{strconv.FormatInt(n, 10)}
}

// jobStateGroups maps words to several states.
var jobStateGroups = map[string][]State{
	"live": States[:4],
	"done": States[4:],
	"dead": {Failed},
}

func setJobStates(f *Filter, _ time.Time, _, value string) error {
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '|' }) {
		group := jobStateGroups[word]
		if group == nil && slices.Contains(States, State(word)) {
			group = []State{State(word)}
		}
		if group == nil {
			return fmt.Errorf("%q is not a job state: one of %s, or live, done, dead; %s", word, core.List(States), shownScheduled)
		}
		for _, s := range group {
			if !slices.Contains(f.States, s) {
				f.States = append(f.States, s)
			}
		}
	}
	if len(f.States) == 0 {
		return fmt.Errorf("names no state")
	}
	return nil
}

func showJobStates(f Filter) []string {
	if len(f.States) == 0 {
		return nil
	}
	words := make([]string, len(f.States))
	for i, s := range f.States {
		words[i] = string(s)
	}
	return []string{strings.Join(words, ",")}
}

func setJobAttempt(f *Filter, _ time.Time, op, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1_000_000 {
		return fmt.Errorf("is not a number of attempts")
	}
	least, most := 0, 0
	switch op {
	case ">":
		least = n + 1
	case ">=":
		least = n
	case "<":
		most = n - 1
	case "<=":
		most = n
	case ":", "=":
		least, most = n, n
	default:
		return fmt.Errorf("cannot be compared with %s", op)
	}
	if least < 1 && most < 1 {
		return fmt.Errorf("finds no begun attempt: jobs that wait for their first are state:live")
	}
	f.MinAttempt, f.MaxAttempt = max(f.MinAttempt, least), core.Or(most, f.MaxAttempt)
	return nil
}

func showJobAttempt(f Filter) (out []string) {
	if f.MinAttempt > 0 && f.MinAttempt == f.MaxAttempt {
		return []string{strconv.Itoa(f.MinAttempt)}
	}
	if f.MinAttempt > 0 {
		out = append(out, ">="+strconv.Itoa(f.MinAttempt))
	}
	if f.MaxAttempt > 0 {
		out = append(out, "<="+strconv.Itoa(f.MaxAttempt))
	}
	return out
}

func timeTerm(name, like string, field func(*Filter) *time.Time) jobTerm {
	return jobTerm{name, like, func(f *Filter, now time.Time, _, value string) error {
		t, err := ParseWhen(value, now)
		*field(f) = t
		return err
	}, func(f Filter) []string {
		if t := *field(&f); !t.IsZero() {
			return []string{t.UTC().Format(time.RFC3339Nano)}
		}
		return nil
	}}
}

// ParseWhen parses an instant of the past as people write it: an age such as 2h
// or 7d, now, today, yesterday, a date, or a time with or without a zone. Without
// a zone it is in the zone of now.
func ParseWhen(text string, now time.Time) (time.Time, error) {
	y, m, d := now.Date()
	switch text {
	case "now":
		return core.Micro(now), nil
	case "today":
		return time.Date(y, m, d, 0, 0, 0, 0, now.Location()).UTC(), nil
	case "yesterday":
		return time.Date(y, m, d-1, 0, 0, 0, 0, now.Location()).UTC(), nil
	}
	t := time.Time{}
	if ago, err := core.ParseDuration(text); err == nil && ago >= 0 {
		t = now.Add(-ago.D())
	} else {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
			if t, err = time.ParseInLocation(layout, text, now.Location()); err == nil {
				break
			}
		}
	}
	if t.Unix() <= 0 {
		return time.Time{}, fmt.Errorf("is not a time since 1970: write how long ago, such as 2h or 7d, a date, or an instant such as 2026-03-02T12:00:00Z")
	}
	return core.Micro(t).UTC(), nil
}

// Matches reports whether the filter finds j. It ignores the namespace.
func (f Filter) Matches(j Job) bool {
	same := func(want, have string) bool { return want == "" || want == have }
	return (f.ID == 0 || f.ID == j.ID) && (len(f.States) == 0 || slices.Contains(f.States, j.State)) &&
		same(f.Task, j.Task) && same(f.Schedule, j.Schedule) && same(f.Queue, j.Queue) && same(string(f.Kind), string(j.Kind)) &&
		same(string(f.Trigger), string(j.Trigger)) && same(string(f.Reason), string(j.Reason)) && same(f.Session, j.Session) && (f.Tag == "" || slices.Contains(j.Tags, f.Tag)) &&
		j.Attempt >= f.MinAttempt && (f.MaxAttempt == 0 || j.Attempt >= 1 && j.Attempt <= f.MaxAttempt) &&
		strings.Contains(strings.ToLower(j.Error), strings.ToLower(f.Error)) &&
		!j.CreatedAt.Before(f.Since) && (f.Until.IsZero() || j.CreatedAt.Before(f.Until))
}
