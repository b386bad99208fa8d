package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/schedule"
)

// A pause can be taken back from the word that tells of it, and a form that asked
// for a page comes back to it.
func TestAPauseCanBeUndone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	b := s.at("/schedules/hourly")
	opens(b, "pause")
	s.sends(b, "#pause .actions button", "Schedule hourly is paused", "Undo")
	b.Layout()
	picture(b, "undo")
	s.sends(b, ".flash form button", "Schedule hourly is resumed")
	if got := must(s.Schedule(t.Context(), "default", "hourly"))(s); got.State != schedule.Active {
		t.Errorf("it is %s", got.State)
	}
	b.Click(".flash .shut")
	b.Until(`!document.querySelector('.flash')`)

	v := s.visitor(s.admin)
	if status, body := v.post("/schedules/hourly/pause", "reason", "no", "next", "/queues"); status != http.StatusOK || !strings.Contains(body, "<h1>Queues</h1>") || !strings.Contains(body, "Undo") {
		t.Errorf("%d without the page that was asked for", status)
	}
	if status, body := v.post("/schedules/hourly/resume", "next", "//evil.example/"); status != http.StatusOK || !strings.Contains(body, "Overview of this node: </span>") {
		t.Errorf("%d: it leads elsewhere", status)
	}
}

// A form is sent once, however often its button is pressed, and says that it is under way.
func TestAFormIsSentOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	b := s.at("/schedules/hourly")
	var sent struct {
		Times int
		Busy  bool
	}
	b.Eval(`new Promise(done => {
		const form = document.querySelector('#pause form'), button = form.querySelector('.actions button');
		let times = 0;
		document.getElementById('pause').showPopover();
		addEventListener('submit', e => { if (!e.defaultPrevented) { times++; e.preventDefault(); } });
		button.click(); button.click(); button.click();
		setTimeout(() => done({times, busy: button.getAttribute('aria-busy') === 'true'}), 50);
	})`, &sent)
	if sent.Times != 1 || !sent.Busy {
		t.Errorf("%+v", sent)
	}
}

// A menu of a row opens beside its button, goes with the arrow keys, and closes with Escape.
func TestAMenuOfARow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/design")
	b.Click("button[popovertarget=row-1]")
	b.Until(`document.getElementById('row-1').matches(':popover-open') && document.activeElement.closest('#row-1')`)
	var near bool
	b.Eval(`(() => { const m = document.getElementById('row-1').getBoundingClientRect(), b = document.querySelector('[popovertarget=row-1]').getBoundingClientRect();
		return Math.abs(m.right - b.right) < 40 && Math.abs(m.top - b.bottom) < 40 || Math.abs(m.bottom - b.top) < 40; })()`, &near)
	if !near {
		t.Error("it opens elsewhere")
	}
	b.Axe()
	picture(b, "row-menu")
	b.Key("ArrowDown")
	b.Until(`document.activeElement.textContent === 'Run now'`)
	b.Key("Escape")
	b.Until(`!document.getElementById('row-1').matches(':popover-open')`)
	b.Quiet(s.url)
}
