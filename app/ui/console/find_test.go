package console_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// ctrlK presses it.
func ctrlK(b *browser.Tab) {
	b.T.Helper()
	b.Until(`document.documentElement.classList.contains('scripted')`)
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		b.Call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "k", "code": "KeyK", "windowsVirtualKeyCode": 75, "modifiers": 2}, nil)
	}
}

// types writes into what has the focus, and waits until the palette has answered.
func types(b *browser.Tab, text string) {
	b.T.Helper()
	b.Until(`document.querySelector('.palette[open] input') === document.activeElement`)
	b.Eval(`(document.activeElement.value = '', true)`, new(bool))
	b.Call("Input.insertText", map[string]any{"text": text}, nil)
	answered(b, text)
}

func answered(b *browser.Tab, text string) {
	b.T.Helper()
	b.Until(`document.querySelector('.palette').dataset.ownListed === ` + strconv.Quote(text))
}

// hits is what the palette lists; the chosen one has a star.
func hits(b *browser.Tab) string {
	b.T.Helper()
	var all string
	b.Eval(`[...document.querySelectorAll('.palette [role=option]')].map(o => (o.ariaSelected === 'true' ? '*' : '') + o.querySelector('bdi').textContent).join(', ')`, &all)
	return all
}

// Everything that the palette finds is reached with the keyboard alone.
func TestPalette(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/queues")
	b.Eval(`(document.querySelector('.brand').focus(), true)`, new(bool))
	ctrlK(b)
	answered(b, "")
	if got := hits(b); !strings.HasPrefix(got, "*Overview, Schedules, Jobs") || !strings.Contains(got, "New schedule") {
		t.Errorf("it begins with %q", got)
	}
	for _, scheme := range []string{"light", "dark"} {
		b.Emulate(scheme, 1200)
		picture(b, "palette-"+scheme)
		b.Axe()
	}
	b.Emulate("light", 1200)
	b.Key("Escape")
	b.Until(`document.activeElement === document.querySelector('.brand')`)

	opensBy := func(text string, downs int, path string) {
		t.Helper()
		ctrlK(b)
		types(b, text)
		for range downs {
			b.Key("ArrowDown")
		}
		b.Events = nil
		b.Key("Enter")
		b.Until(`location.pathname + location.search === ` + strconv.Quote(path) + ` && document.readyState === 'complete'`)
		b.Quiet(s.url)
	}
	failed := must(s.Jobs(t.Context(), job.Filter{Task: "broken"}))(s).Items[0]
	opensBy("dead", 0, "/dead")
	opensBy("hello", 0, "/tasks/hello")
	opensBy("hourly", 0, "/schedules/hourly")
	opensBy("shop", 0, "/monitors/shop")
	opensBy("nightly", 0, "/cycles/nightly")
	opensBy("checks", 0, "/queues/checks")
	opensBy("job "+numberText(failed.ID), 0, "/jobs/"+numberText(failed.ID))
	opensBy("state:failed task:broken", 1, "/jobs?q=state%3Afailed+task%3Abroken")

	// Actions: at once where they can be taken back, after a question where not.
	ctrlK(b)
	types(b, "pause hourly")
	b.Events = nil
	b.Key("Enter")
	b.Until(`document.querySelector('.flash')?.innerText.includes('Schedule hourly is paused')`)
	b.Shows("Undo")
	if path := b.Text("h1"); !strings.Contains(path, "Jobs") {
		t.Errorf("it leads away, to %q", path)
	}
	ctrlK(b)
	types(b, "resume hourly")
	b.Key("Enter")
	b.Until(`document.querySelector('.flash')?.innerText.includes('Schedule hourly is resumed')`)
	ctrlK(b)
	types(b, "check shop")
	b.Key("Enter")
	b.Until(`document.querySelector('.flash')?.innerText.includes('is being checked')`)
	before := len(must(s.Jobs(t.Context(), job.Filter{Task: "later"}))(s).Items)
	ctrlK(b)
	types(b, "run later")
	b.Key("Enter")
	b.Until(`!document.querySelector('.palette .asks').hidden && document.activeElement.textContent === 'Run'`)
	picture(b, "palette-asks")
	b.Axe()
	b.Key("Escape")
	b.Until(`document.querySelector('.palette[open] .asks').hidden && document.activeElement.matches('.palette input')`)
	if n := len(must(s.Jobs(t.Context(), job.Filter{Task: "later"}))(s).Items); n != before {
		t.Errorf("a question that was not answered made %d jobs", n-before)
	}
	b.Key("Enter")
	b.Until(`!document.querySelector('.palette .asks').hidden`)
	b.Events = nil
	b.Key("Enter")
	b.Until(`document.querySelector('.flash')?.innerText.includes('is enqueued')`)
	if n := len(must(s.Jobs(t.Context(), job.Filter{Task: "later"}))(s).Items); n != before+1 {
		t.Errorf("%d jobs were made", n-before)
	}
	b.Quiet(s.url)
}

// On a phone a button opens the palette, and without scripts it is a link.
func TestPaletteOnAPhoneAndWithoutScripts(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/queues")
	b.Emulate("light", 360)
	b.Visit(s.url + "/queues")
	b.Click("#quick")
	types(b, "ho")
	picture(b, "palette-phone")
	b.Layout()
	b.Axe()
	b.Click(".palette .more")
	b.Until(`!document.querySelector('.palette').open && document.activeElement.id === 'quick'`)
	b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.Visit(s.url + "/queues")
	b.Follow("#quick")
	b.Shows("Dead jobs", "Database")
	v := s.visitor(s.admin)
	if _, body := v.get("/find?q=backup"); strings.Contains(body, "/monitors/backup/check") || !strings.Contains(body, "/monitors/backup/pause") {
		t.Error("a heartbeat can be checked, or not be paused")
	}
	if _, body := v.get("/find?q=pause+hourly"); !strings.Contains(body, `action="/schedules/hourly/pause"`) {
		t.Error("an action cannot be taken without scripts")
	}
}

// A search sees what its token may see, and offers what it may do.
func TestPaletteOfOthers(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	must(s.CreateTask(t.Context(), task.Task{Namespace: "other", Name: "hello-far", Kind: task.KindFunc}))(s)
	reader, _ := s.token("reader", "default", access.ScopeRead)
	other, id := s.token("other", "other", access.ScopeOperate)
	v := s.visitor(reader)
	if _, body := v.get("/find?q=ho"); !strings.Contains(body, "/schedules/hourly") || strings.Contains(body, "data-post") || strings.Contains(body, "/settings/tokens") || strings.Contains(body, "-new") {
		t.Errorf("a reader is offered %s", body)
	}
	if _, body := v.get("/find?q=pause+hourly"); strings.Contains(body, "/schedules/hourly/pause") {
		t.Error("a reader may pause")
	}
	if status, _ := v.post("/schedules/hourly/pause"); status != 403 {
		t.Errorf("a reader pauses: %d", status)
	}
	v = s.visitor(other)
	failed := must(s.Jobs(t.Context(), job.Filter{Task: "broken"}))(s).Items[0]
	for _, q := range []string{"hello", "hourly", "shop", "nightly", numberText(failed.ID), "state:failed", "run hello"} {
		status, body := v.get("/find?q=" + strings.ReplaceAll(q, " ", "+"))
		for _, not := range []string{"/schedules/hourly", "/monitors/shop", "/tasks/hello\"", "/cycles/nightly", "/jobs/" + numberText(failed.ID), "the disk"} {
			if status != 200 || strings.Contains(body, not) {
				t.Errorf("%q: %d, and it shows %s of another namespace", q, status, not)
			}
		}
	}
	if status, _ := v.get("/find?q=hello&namespace=default"); status != 403 {
		t.Errorf("another namespace is searched: %d", status)
	}
	b := s.tab(other)
	b.Visit(s.url + "/queues")
	ctrlK(b)
	types(b, "hello")
	if got := hits(b); got != "*hello-far, Run hello-far…" {
		t.Errorf("found %q", got)
	}
	if err := s.RevokeToken(t.Context(), id); err != nil { // and the session ends
		t.Fatal(err)
	}
	b.Eval(`(document.activeElement.value = '', true)`, new(bool))
	b.Call("Input.insertText", map[string]any{"text": "far"}, nil)
	b.Until(`location.pathname === '/sign-in' && new URLSearchParams(location.search).get('next') === '/find?q=far'`)
}

// A slow network is shown, and Enter does nothing that has not been seen.
func TestPaletteOnASlowNetwork(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/queues")
	ctrlK(b)
	types(b, "pause ho")
	slow := func(ms int, offline bool) {
		b.Call("Network.emulateNetworkConditions", map[string]any{"offline": offline, "latency": ms, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
	}
	b.Eval(`(AbortSignal.timeout = () => new AbortController().signal, true)`, new(bool)) // no answer is given up, however slow this machine is
	slow(600_000, false)                                                                  // until it was seen that it is slow
	b.Call("Input.insertText", map[string]any{"text": "urly"}, nil)
	b.Key("Enter")
	b.Until(`document.querySelector('.palette [role=status]').textContent === 'Searching…' && document.querySelector('.palette [aria-busy]')`)
	slow(0, false)
	answered(b, "pause hourly")
	if got := must(s.Schedule(t.Context(), "default", "hourly"))(s); got.State != schedule.Active {
		t.Error("an action that was not seen was done")
	}
	slow(0, true)
	b.Call("Input.insertText", map[string]any{"text": "x"}, nil)
	b.Until(`document.querySelector('.palette [role=status]').textContent === 'The server does not answer.'`)
	slow(0, false)
}

// The palette stays through live updates with its text, its choice and its focus.
func TestPaletteThroughLiveUpdates(t *testing.T) {
	t.Parallel()
	s := busySite(t)
	b := s.at("/jobs")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	ctrlK(b)
	types(b, "quick")
	b.Key("ArrowDown")
	want := hits(b)
	b.Eval(`(window.freshes = 0, document.addEventListener('belfry:fresh', () => freshes++), window.lost = 0, setInterval(() => { if (!document.activeElement.matches('.palette input')) lost++; }, 50), true)`, new(bool))
	began := time.Now()
	b.Until(`freshes >= 6`)
	var lost int
	b.Eval(`lost`, &lost)
	if got := hits(b); got != want || lost > 0 {
		t.Errorf("%q became %q, focus lost %d times within %s", want, got, lost, time.Since(began))
	}
	b.Quiet(s.url)
}

// The longest names, and text that runs the other way, break nothing.
func TestPaletteWithLongNames(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	long := strings.Repeat("long-name-", 12) + "end-of-i"
	must(s.CreateTask(t.Context(), task.Task{Name: long, Kind: task.KindFunc, Description: "שלום עולם 🔥 " + strings.Repeat("תיאור ארוך ", 20)}))(s)
	must(s.CreateTask(t.Context(), task.Task{Name: "long-2", Kind: task.KindFunc, Description: `"><script>alert(1)</script>`}))(s)
	b := s.at("/find?q=long")
	b.Shows(long)
	for _, width := range []int{1200, 360} {
		b.Emulate("light", width)
		b.Layout()
		b.Visit(s.url + "/queues")
		b.Click("#quick")
		types(b, long)
		if got := hits(b); got != "*"+long+", Run "+long+"…" {
			t.Errorf("found %q", got)
		}
		b.Layout()
		var out []string
		b.Eval(`[...document.querySelectorAll('.palette, .palette *')].filter(e => { const box = e.getBoundingClientRect(); return box.right > innerWidth + 1 || box.left < -1; }).map(e => e.outerHTML)`, &out)
		if len(out) > 0 {
			t.Errorf("at %d pixels it sticks out: %q", width, out)
		}
		types(b, "שלום 🔥")
		picture(b, "palette-long-"+strconv.Itoa(width))
		b.Quiet(s.url)
	}
}
