package page

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func run(t *testing.T, g task.PageCheck, trigger schedule.Trigger) *worker.Run {
	t.Helper()
	return &worker.Run{Job: &job.Job{ID: 1, Trigger: trigger}, Task: new(pageTask(g)), Lease: 2, Log: io.Discard}
}

func TestAPageCheckEndsWithItsResult(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) })
	f := executor(t).Execute(t.Context(), run(t, task.PageCheck{URL: url}, job.TriggerCheck))
	if f.Outcome != job.OutcomeOK || f.Check == nil || f.Check.Code != task.CodeStatus || f.Output != nil || f.JobID != 1 || f.Lease != 2 {
		t.Errorf("check of a missing page: got %+v, want ok with a check result", f)
	}
}

func TestAPlainJobEndsWithTheText(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<p>"+strings.Repeat("<b>&lt;&amp;", 3)+strings.Repeat("é ", 300_000))
	})
	e := executor(t)
	f := e.Execute(t.Context(), run(t, task.PageCheck{URL: url, CSS: "p"}, job.TriggerEnqueue))
	var out struct {
		Outcome, Digest, Text string
		Matches               int
		Cut                   bool
	}
	if err := json.Unmarshal(f.Output, &out); err != nil || f.Outcome != job.OutcomeOK || f.Check != nil {
		t.Fatal(err, f)
	}
	if out.Outcome != "seen" || out.Matches != 1 || len(out.Text) > 256<<10 || !out.Cut || !strings.HasPrefix(out.Text, "<&<&<&é") || len(out.Digest) != 64 {
		t.Errorf("%d bytes of text, %+v", len(out.Text), out.Outcome)
	}
	f = e.Execute(t.Context(), run(t, task.PageCheck{URL: url, CSS: ".no"}, job.TriggerEnqueue))
	if f.Outcome != job.OutcomeError || f.NoRetry || !strings.Contains(f.Error, "finds nothing") {
		t.Errorf("job without a match: got %+v, want an error", f)
	}
	f = e.Execute(t.Context(), run(t, task.PageCheck{URL: url, CSS: "p["}, job.TriggerEnqueue))
	if f.Outcome != job.OutcomeError || !f.NoRetry || !strings.Contains(f.Error, "page.css") {
		t.Errorf("job with an invalid selector: got %+v, want a permanent error", f)
	}
}

// A worker that stops, or whose job is canceled, has not seen that the page
// was slow.
func TestALookThatIsEndedByUsSaysNothingOfThePage(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	e := executor(t)
	for _, cause := range []error{worker.ErrCanceled, worker.ErrShutdown, worker.ErrLost} {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-asked; cancel(cause) }()
		f := e.Execute(ctx, run(t, task.PageCheck{URL: url}, job.TriggerCheck))
		if f.Outcome == job.OutcomeOK || f.Check != nil {
			t.Errorf("%v: %+v", cause, f)
		}
	}
	var f job.Finish
	for _, d := range []time.Duration{50 * time.Millisecond, time.Second, 10 * time.Second} { // a busy machine needs more to send it
		ctx, cancel := context.WithTimeoutCause(t.Context(), d, worker.ErrTimeout)
		f = e.Execute(ctx, run(t, task.PageCheck{URL: url}, job.TriggerCheck))
		if cancel(); f.Check != nil && f.Check.Code == task.CodeFirstByte {
			break
		}
	}
	if f.Outcome != job.OutcomeOK || f.Check == nil || f.Check.Code != task.CodeFirstByte {
		t.Errorf("check with a timeout: got %+v, want ok with a check result", f)
	}
}

func TestConditionsAreJudged(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<p>10</p>") })
	e := executor(t)
	page := pageTask(task.PageCheck{URL: url, CSS: "p"})
	page.Conditions, page.Warnings = []string{"int(text) < 20", "elements == 1"}, []string{`header('Content-Type') startsWith 'text/'`}
	if m := e.Check(t.Context(), page); m.Outcome != task.CheckOK || len(m.Conditions) != 3 {
		t.Errorf("conditions that hold: got %+v, want ok with 3 results", m)
	}
	page.Warnings = append(page.Warnings, "int(text) < 5")
	want(t, e.Check(t.Context(), page), task.CheckDegraded, task.CodeAssertion)
	page.Conditions = append(page.Conditions, "int(text) > 10")
	m := e.Check(t.Context(), page)
	want(t, m, task.CheckFail, task.CodeAssertion)
	if m.Snapshot == nil || m.Page == nil || !strings.Contains(m.Message, "int(text) > 10") {
		t.Errorf("condition that does not hold: got %+v, want a snapshot and its text", m)
	}
}

func TestAPreviewShowsItsWork(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("<li>one <i class=ad>buy</i> seen 12 times", 20)+"<li>"+strings.Repeat("long ", 1000))
	})
	e := executor(t)
	p := e.Preview(t.Context(), pageTask(task.PageCheck{URL: url, CSS: "li", IgnoreCSS: []string{".ad"}, Ignore: []string{"seen"}, Mask: []string{"numbers"}}))
	if p.Outcome != task.CheckOK || p.Page.Matches != 21 || len(p.First) != 10 || p.First[0] != "one seen 12 times" || !strings.HasPrefix(p.Page.Text, "one # times\none # times") {
		t.Errorf("preview: got %+v", p)
	}
	counts, _ := json.Marshal(p.Removed)
	if string(counts) != `[{"rule":"ignore_css[0]","text":".ad","count":20},{"rule":"ignore[0]","text":"seen","count":20},{"rule":"mask","text":"numbers","count":20}]` {
		t.Error(string(counts))
	}
	if p := e.Preview(t.Context(), pageTask(task.PageCheck{URL: url, CSS: "li["})); p.Code != task.CodeConfig {
		t.Errorf("preview with an invalid selector: got %+v, want a config fault", p)
	}
	if p := e.Preview(t.Context(), pageTask(task.PageCheck{URL: url, CSS: ".no"})); p.Code != task.CodeSelectorMissing || len(p.First) != 0 {
		t.Errorf("preview without a match: got %+v, want a missing selector", p)
	}
}

func TestVetNamesTheField(t *testing.T) {
	t.Parallel()
	for field, g := range map[string]task.PageCheck{
		"page.css":           {CSS: "p["},
		"page.css ":          {CSS: "p::before"},
		"page.css  ":         {CSS: strings.Repeat("a ", 2000)},
		"page.css   ":        {CSS: "p:has(:has(a))"},
		"page.css    ":       {CSS: "p:not(a b c)"},
		"page.xpath":         {XPath: "//p["},
		"page.xpath ":        {XPath: "unparsed-text('/etc/passwd')"},
		"page.xpath  ":       {XPath: "replace(//p, 'a', 'b')"},
		"page.json_path":     {JSONPath: ".a["},
		"page.json_path 1":   {JSONPath: "env"},
		"page.json_path 2":   {JSONPath: "$ENV.PATH"},
		"page.json_path 3":   {JSONPath: "input"},
		"page.json_path 4":   {JSONPath: "def f: f; f"},
		"page.json_path 5":   {JSONPath: "reduce .[] as $x (0; . + $x)"},
		"page.json_path 6":   {JSONPath: "[range(1e9)]"},
		"page.json_path 7":   {JSONPath: `import "a" as a; .`},
		"page.json_path 8":   {JSONPath: ".+.|.+.|.+.|.+.|.+.|.+.|.+."},
		"page.json_path 9":   {JSONPath: `"x" * 1000000000`},
		"page.json_path 10":  {JSONPath: "[limit(1e9; repeat(1))]"},
		"page.json_path 11":  {JSONPath: ".[env.A]"},
		"page.json_path 12":  {JSONPath: `"\(env)"`},
		"page.json_path 13":  {JSONPath: "{$__prog_args}"},
		"page.json_path 14":  {JSONPath: "{a: input}"},
		"page.json_path 15":  {JSONPath: ".a |= 1"},
		"page.json_path 16":  {JSONPath: "undefined_thing"},
		"page.json_path 17":  {JSONPath: "if env then . else . end"},
		"page.json_path 18":  {JSONPath: "try input"},
		"page.json_path 19":  {JSONPath: "-(input)"},
		"page.json_path 20":  {JSONPath: "@json \"\\(input)\""},
		"page.json_path 21":  {JSONPath: ".a[input:]"},
		"page.json_path 22":  {JSONPath: "join(tojson)"},
		"page.ignore_css[1]": {IgnoreCSS: []string{"p", ":nonsense()"}},
		"page.ignore[0]":     {Ignore: []string{"("}},
		"page.ignore[1]":     {Ignore: []string{"a", "(a{1,500}){1,2}b{1,500}"}},
	} {
		err := Vet(pageTask(g))
		var e *core.Error
		if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != strings.Fields(field)[0] || e.Code != core.Invalid {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, g := range []task.PageCheck{
		{}, {CSS: "body > div:nth-child(2) a[href*='>']:not(.x, .y > b) + p ~ span, h1"}, {CSS: `p:haschild(a), p:contains("a (b")`}, {CSS: `#a\,b, a[title="x, y"]`},
		{XPath: "normalize-space(//p[@class='x']/following-sibling::*[1])"},
		{JSONPath: ".items[0].price"}, {JSONPath: `.items[] | select(.name | test("^a")) | "\(.name): \(.price)"`},
		{JSONPath: "[.. | .price? // empty] | sort | join(\", \")"}, {JSONPath: ".a // .b | to_entries | map(.key)"}, {JSONPath: ".[2:4] | length"},
		{Ignore: []string{`(?i)^updated .*$`}},
	} {
		if err := Vet(pageTask(g)); err != nil {
			t.Errorf("%+v: %v", g, err)
		}
	}
	if err := Vet(task.Task{Name: "x"}); err != nil {
		t.Error(err)
	}
}
