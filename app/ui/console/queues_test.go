package console_test

import (
	"testing"

	"github.com/belfry-run/belfry/job"
)

func TestQueueIsPausedAndResumed(t *testing.T) {
	s := filledSite(t)
	b := s.at("/queues/default")
	opens(b, "pause")
	picture(b, "queue-pause")
	b.Shows("Pause queue default?", "As a command")
	b.Axe()
	b.Type("#f-reason", "a <b>disk</b> is full")
	s.sends(b, "#pause button.main", "Queue default is paused", "a <b>disk</b> is full", "token:", "Resume")
	if q := must(s.Queue(t.Context(), "default"))(s); q.PausedReason != "a <b>disk</b> is full" {
		t.Errorf("%+v", q)
	}
	s.sends(b, "form[action='/queues/default/resume'] button", "Queue default is resumed", "active")
}

// What others do shows up by itself, and what somebody is in the middle of
// stays.
func TestPageKeepsItselfUpToDate(t *testing.T) {
	s := filledSite(t)
	b := s.at("/queues/default")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	opens(b, "pause")
	b.Type("#f-reason", "half a wor")
	must(s.Enqueue(t.Context(), []job.NewJob{{Task: "later"}}))(s)
	b.Until(`[...document.querySelectorAll('.stats dd')].some(e => e.textContent === '4')`)
	var typed string
	b.Eval(`document.activeElement.value`, &typed)
	if typed != "half a wor" {
		t.Errorf("what was typed is %q", typed)
	}
	b.Quiet(s.url)

	b.Visit(s.url + "/")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	s.fail("broken", "smoke everywhere")
	b.Until(`document.body.innerText.includes('smoke everywhere')`)
	b.Quiet(s.url)
}

// Every time says what it is where the viewer is.
func TestTimesInTheViewersZone(t *testing.T) {
	s := newSite(t)
	b := s.tab(s.admin)
	b.Call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "Asia/Kathmandu"}, nil)
	b.Visit(s.url + "/queues/default")
	b.Until(`document.getElementById('hint').hidden`)
	var ok bool
	b.Eval(`document.querySelector('main time').dispatchEvent(new MouseEvent('mouseover', {bubbles: true})), document.querySelectorAll('time[tabindex]').length === 0`, &ok)
	if !ok {
		t.Error("times are stops of the Tab key")
	}
	b.Until(`!document.getElementById('hint').hidden`)
	b.Shows("GMT+5:45 where you are", "UTC")
	picture(b, "hint")
	b.Layout()
	b.Axe()
	b.Key("Escape")
	b.Until(`document.getElementById('hint').hidden`)
	b.Quiet(s.url)
}

func TestKeys(t *testing.T) {
	s := newSite(t)
	b := s.tab(s.admin)
	b.Key("?")
	b.Until(`document.getElementById('keys').matches(':popover-open')`)
	b.Events = nil
	b.Key("g")
	b.Key("q")
	b.Until(`location.pathname === '/queues'`)
}
