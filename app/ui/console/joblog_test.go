package console_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// longLog is a job that runs and has written lines to stdout, with a line of
// stderr and one of the worker at places that tests know.
func (s *site) longLog(lines int) (session string, ref job.Ref) {
	s.Helper()
	session, j, lease := s.report()
	ref = job.Ref{JobID: j.ID, Lease: lease}
	s.write(session, ref, 3, job.Stdout, "ne\n")
	var b strings.Builder
	seq, n := 4, 10 // lines of [site.report], of both attempts
	flush := func() {
		s.write(session, ref, seq, job.Stdout, b.String())
		b.Reset()
		seq++
	}
	for n < lines {
		n++
		switch n {
		case 40_000:
			flush()
			s.write(session, ref, seq, job.Stderr, fmt.Sprintf("line %d: a needle of stderr, <i>near</i> the middle\n", n))
			seq++
		case 70_000:
			fmt.Fprintf(&b, "line %d: another Needle \x1b[44;97mon blue\x1b[0m\n", n)
		default:
			fmt.Fprintf(&b, "line %d: one of very many short lines\n", n)
		}
		if b.Len() > 60<<10 {
			flush()
		}
	}
	flush()
	return session, ref
}

const (
	mostOfLogPage  = 64 << 10  // bytes of a page with a log, packed
	plainOfLogPage = 256 << 10 // and as it is
	mostOfLogPart  = 24 << 10  // bytes of a part, packed
	mostOfLogNodes = 3000      // of the page of a log of 100,000 lines
)

// A log of 100,000 lines is light: what is sent and what stands on the page
// does not grow with it. Each of its lines can be reached.
func TestLogOfManyLinesIsLight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const lines = 100_000
	session, ref := s.longLog(lines)
	path := fmt.Sprintf("/jobs/%d", ref.JobID)
	v := s.visitor(s.admin)
	weigh := func(path string) (packed, plain int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip")
		answer, err := v.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %d, %v, %v", path, answer.StatusCode, answer.Header, err)
		}
		z, err := gzip.NewReader(strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return len(body), len(whole)
	}
	packed, plain := weigh(path)
	part, _ := weigh(path + "/log?from=50000")
	t.Logf("the page has %d bytes, packed %d; a part has %d", plain, packed, part)
	if packed > mostOfLogPage || plain > plainOfLogPage || part > mostOfLogPart {
		t.Errorf("limits are %d, packed %d; %d of a part", plainOfLogPage, mostOfLogPage, mostOfLogPart)
	}

	b := s.tab(s.admin)
	b.Visit(s.url + path)
	light := func() {
		t.Helper()
		var nodes int
		if b.Eval(`document.querySelectorAll('*').length`, &nodes); nodes > mostOfLogNodes {
			t.Errorf("the page has %d nodes", nodes)
		}
		t.Logf("%d nodes", nodes)
	}
	sees := func(n int) {
		t.Helper()
		b.Until(fmt.Sprintf(`(line => line && (box => (at => at.top >= box.top - 1 && at.bottom <= box.bottom + 1)(line.getBoundingClientRect()))(document.querySelector('.lines').getBoundingClientRect()))(document.querySelector('.lines [data-n="%d"]'))`, n))
		light()
	}
	b.Until(`document.querySelector('[data-log-state]').innerText === 'Followed as it is written.'`)
	sees(lines)
	b.Shows("100 000 lines", "line 100000: one of very many short lines")
	look(b, s, "job-log-many")

	// What is written shows up at the end.
	s.write(session, ref, 9000, job.Stderr, "the last words\n")
	b.Until(`[...document.querySelectorAll('.line')].at(-1).innerText.endsWith('the last words')`)
	sees(lines + 1)

	// Any line, by its number, with an address; and by the keys alone.
	b.Type("[data-goto]", "54321")
	b.Key("Enter")
	sees(54321)
	b.Until(`location.hash === '#L54321' && document.querySelector('.at-line').innerText.startsWith('line 54321:')`)
	b.Eval(`document.querySelector('.lines').focus(), true`, new(bool))
	b.Key("End")
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "End", "code": "End", "windowsVirtualKeyCode": 35}, nil)
	sees(lines + 1)
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Home", "code": "Home", "windowsVirtualKeyCode": 36}, nil)
	sees(1)

	// All of it is searched, and only what was found is shown.
	b.Type("[data-find]", "NEEDLE")
	b.Until(`document.querySelector('[data-found]').innerText === '2 lines'`)
	b.Key("Enter")
	sees(40_000)
	b.Until(`document.querySelector('[data-found]').innerText === '1 of 2' && document.querySelector('.at-hit').innerText.includes('<i>near</i>')`)
	b.Key("Enter")
	sees(70_000)
	var blue string
	b.Eval(`[...document.querySelectorAll('.say span')].find(e => e.textContent === 'on blue').className`, &blue)
	if blue != "ink-white ground-blue" {
		t.Errorf("%q", blue)
	}
	b.Click("[data-only]")
	b.Until(`document.querySelectorAll('.line').length === 2`)
	look(b, s, "job-log-found")
	b.Click("[data-only]")

	// The lines of one stream, with the numbers that they have.
	b.Click(".show-stdout")
	b.Until(`!document.querySelector('.line.stdout') && document.querySelector('.line.stderr[data-n="40000"]') !== null`)
	b.Click(".show-stdout")
	b.Until(`document.querySelector('.line.stdout') !== null && document.querySelector('[data-found]').innerText === '2 lines'`)
	b.Click("[data-full]")
	b.Until(`document.querySelector('.lines').clientHeight > innerHeight - 200`)
	look(b, s, "job-log-full")
	b.Click("[data-find]")
	b.Key("Escape")
	b.Until(`document.querySelector('.tail.full') === null`)
	b.Quiet(s.url)

	// A link to a line leads there.
	b.Visit(s.url + path + "?x=1#L77777")
	sees(77_777)
	b.Until(`document.querySelector('.at-line')?.innerText.startsWith('line 77777:')`)
	b.Quiet(s.url)
}

// A log that is followed goes on at its end when its box becomes lower in the
// moment in which a line was added: a window that is made smaller is no reader
// who scrolls up.
func TestALogThatBecomesLowerStaysAtItsEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session, ref := s.longLog(400)
	b := s.tab(s.admin)
	b.Visit(fmt.Sprintf("%s/jobs/%d", s.url, ref.JobID))
	b.Until(`document.querySelector('[data-log-state]').innerText === 'Followed as it is written.'`)
	atEnd := func(words string) {
		t.Helper()
		b.Until(`(box => box.innerText.trimEnd().endsWith('` + words + `') && box.scrollHeight - box.scrollTop - box.clientHeight < 10)(document.querySelector('.lines'))`)
	}
	atEnd("line 400: one of very many short lines")
	// Right after the line was added and scrolled to, before the browser tells of the scroll.
	b.Eval(`(lines => new MutationObserver((_, o) => { o.disconnect(); lines.style.maxHeight = '120px'; }).observe(lines, {childList: true, subtree: true}))(document.querySelector('.lines')), true`, new(bool))
	s.write(session, ref, 9000, job.Stderr, "one more\n")
	b.Until(`document.querySelector('.lines').clientHeight <= 120`)
	atEnd("one more")
	s.write(session, ref, 9001, job.Stderr, "the last words\n")
	atEnd("the last words")
	// And who scrolls up stays there.
	b.Eval(`new Promise(done => { document.querySelector('.lines').scrollTop -= 60; requestAnimationFrame(() => requestAnimationFrame(() => done(true))); })`, new(bool)) // and the page has heard of it
	s.write(session, ref, 9002, job.Stderr, "unseen\n")
	b.Until(`document.querySelector('.pages').innerText.startsWith('403 lines') && (box => box.scrollHeight - box.scrollTop - box.clientHeight > 60)(document.querySelector('.lines'))`)
	b.Quiet(s.url)
}

// Without script there is a page of the last 1,000 lines, with links to all others.
func TestLogWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, ref := s.longLog(2500)
	v := s.visitor(s.admin)
	path := fmt.Sprintf("/jobs/%d", ref.JobID)
	for _, tt := range []struct {
		query       string
		first, last int
		links       []string
	}{
		{"", 1501, 2500, []string{"from=500"}},
		{"?from=500", 501, 1500, []string{"from=0", "from=1500"}},
		{"?from=0", 1, 1000, []string{"from=1000"}},
		{"?line=700", 200, 1199, []string{"from=0", "from=1199"}},
	} {
		_, body := v.get(path + tt.query)
		if strings.Count(body, `class="line `) != 1000 || !strings.Contains(body, fmt.Sprintf(`id="L%d"`, tt.first)) || !strings.Contains(body, fmt.Sprintf(`id="L%d"`, tt.last)) {
			t.Errorf("%q: not the lines %d to %d", tt.query, tt.first, tt.last)
		}
		for _, link := range tt.links {
			if !strings.Contains(body, link+"#log") {
				t.Errorf("%q: no link to %s", tt.query, link)
			}
		}
	}
	if _, body := v.get(path + "?find=Line+2499"); !strings.Contains(body, ": 1.") || !strings.Contains(body, "line=2499#L2499") {
		t.Errorf("%s", body)
	}
	for _, query := range []string{"?line=x", "?from=-1", "?attempt=0"} {
		if status, _ := v.get(path + query); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", query, status)
		}
	}
}

// A person watches the log of a job that runs for 20 s: it goes on at its end
// while that is in view, and stays where it is for who has scrolled up. What
// they look at, and the page around it, jumps at no time.
func TestPagesThroughLiveUpdatesOfALog(t *testing.T) {
	t.Parallel()
	s := busySite(t)
	id := must(s.Enqueue(t.Context(), []job.NewJob{{Task: "talks"}}))(s)[0].Job.ID
	v := s.visitor(s.admin)
	v.get("/")
	cookies := v.cookies()
	for _, tt := range []struct{ name, begin string }{
		{"at the end", `true`},
		{"scrolled up", `(lines.dispatchEvent(new WheelEvent('wheel')), lines.scrollTop = 60, true)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := browser.Open(t)
			for _, c := range cookies {
				b.Call("Network.setCookie", map[string]any{"name": c.Name, "value": c.Value, "url": s.url}, nil)
			}
			b.Emulate("light", 1200)
			b.Visit(fmt.Sprintf("%s/jobs/%d", s.url, id))
			b.Until(`document.getElementById('live').dataset.state === 'on'`)
			// As many lines as do not fit.
			b.Eval(`document.querySelector('.lines').style.maxHeight = '120px', true`, new(bool))
			b.Until(`document.querySelector('.lines').scrollHeight > 260`)
			b.Until(`document.querySelector('.lines').scrollHeight - document.querySelector('.lines').scrollTop - 120 < 10`)
			b.Eval(`(() => {
				const lines = document.querySelector('.lines'), up = `+fmt.Sprint(tt.name == "scrolled up")+`, faults = new Set();
				`+tt.begin+`;
				window.watched = {faults: () => [...faults], began: 0, grew: 0};
				requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => {
					const top = () => [...lines.querySelectorAll('.line')].find(e => e.getBoundingClientRect().bottom > lines.getBoundingClientRect().top + 1);
					const line = top(), n = line.dataset.n, stood = line.getBoundingClientRect().top, box = lines.getBoundingClientRect().top, last = () => [...lines.querySelectorAll('.line')].at(-1);
					const first = Number(last().dataset.n), high = lines.scrollHeight;
					watched.began = performance.now();
					const look = () => {
						const by = lines.getBoundingClientRect().top - box;
						if (Math.abs(by) > 2) faults.add('the log moved by ' + by);
						if (up) {
							const now = lines.querySelector('[data-n="' + n + '"]');
							if (!now) faults.add('line ' + n + ' is gone');
							else if (Math.abs(now.getBoundingClientRect().top - stood) > 1) faults.add('line ' + n + ' moved by ' + (now.getBoundingClientRect().top - stood));
						} else if (last().getBoundingClientRect().bottom > lines.getBoundingClientRect().bottom + 2) faults.add('the last line is out of view');
						watched.grew = up ? (lines.scrollHeight - high) / line.offsetHeight : Number(last().dataset.n) - first; // only what is in view is drawn
						requestAnimationFrame(() => setTimeout(look, 50));
					};
					look();
				})));
				return true;
			})()`, new(bool))
			b.Until(`watched.began > 0 && performance.now() - watched.began >= 20000 && watched.grew > 10`)
			var faults []string
			b.Eval(`watched.faults()`, &faults)
			for _, f := range faults {
				t.Error(f)
			}
			b.Quiet(s.url)
		})
	}
}

// The page of a failed job says why in its first box, leads to the first error
// in the log, and shows what was other in the last good run.
func TestFailedJobIsExplained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	must(s.CreateTask(ctx, task.Task{Name: "dump", Retry: task.Retry{MaxAttempts: 1}, Command: &task.Command{Shell: "pg_dump shop | gzip > shop.gz"}}))(s)
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "builder", Kinds: []task.Kind{task.KindCommand}, Queues: map[string]int{"default": 1}, TTL: job.MaxSessionTTL}))(s)
	run := func(f job.Finish) int64 {
		t.Helper()
		c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{"default": 1}}))(s)
		if len(c.Jobs) != 1 {
			t.Fatalf("claimed %d jobs", len(c.Jobs))
		}
		f.Ref = job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}
		s.write(w.ID, f.Ref, 0, job.Stdout, strings.Repeat("a table is dumped\n", 200))
		if f.Error != "" {
			s.write(w.ID, f.Ref, 1, job.Stderr, "pg_dump: \x1b[1;31merror:\x1b[0m the server is gone\n\x1b[37;41m FATAL \x1b[0m <b>not</b> whole\n")
			s.write(w.ID, f.Ref, 2, job.Stdout, strings.Repeat("it goes on\n", 200))
			s.write(w.ID, f.Ref, 3, job.Log, fmt.Sprintf(job.LogOverLimit, 2000, 1000))
		}
		must(s.Finish(ctx, w.ID, []job.Finish{f}))(s)
		return f.JobID
	}
	must(s.Enqueue(ctx, []job.NewJob{{Task: "dump", Input: json.RawMessage(`{"db":"shop"}`)}}))(s)
	good := run(job.Finish{Outcome: job.OutcomeOK, ExitCode: new(0)})
	must(s.Enqueue(ctx, []job.NewJob{{Task: "dump", Input: json.RawMessage(`{"db":"crm"}`)}}))(s)
	run(job.Finish{Outcome: job.OutcomeHandedBack})
	id := run(job.Finish{Outcome: job.OutcomeError, Error: "exit code 1", ExitCode: new(1)})

	b := s.at(fmt.Sprintf("/jobs/%d", id))
	b.Until(`document.querySelector('[data-log-state]').innerText === 'The end.'`)
	if said := b.Text(".problem"); !strings.Contains(said, "exit code 1") || !strings.Contains(said, "pg_dump: error: the server is gone\n FATAL  <b>not</b> whole") {
		t.Errorf("the box says %q", said)
	}
	if said := b.Text(".compare"); !strings.Contains(said, `{"db":"shop"}`) || !strings.Contains(said, `{"db":"crm"}`) || !strings.Contains(said, "exit code 0") {
		t.Errorf("compared is %q", said)
	}
	b.Shows(fmt.Sprintf("Compared with job %d", good), "handed back", "Run again with other input")
	b.Click("a[data-gap]")
	b.Until(`location.hash === '#L603' && document.querySelector('.missing.at-line') !== null`)
	b.Click("[data-bad]")
	b.Until(`location.hash === '#L401' && document.querySelector('.at-line')?.innerText.endsWith('error: the server is gone')`)
	look(b, s, "job-failed-command")
	b.Until(`document.querySelector('.lines [data-n="401"]') !== null && document.querySelector('.lines [data-n="602"]') === null`) // of whatever width the page is
	b.Follow(`.actions a.button`)
	b.Shows("Run job ")
	if said := value(b, "#f-input"); !strings.Contains(said, "crm") {
		t.Errorf("the input to change is %q", said)
	}
}
