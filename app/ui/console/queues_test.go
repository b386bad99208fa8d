package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// sampled makes samples of queues as a node with an engine would have: three hours by the minute, with a gap of twenty, and
// a week by the hour.
func (s *site) sampled() {
	s.Helper()
	must(s.node.Store().SampleQueues(s.Context()))(s)
	put := func(span int64, at time.Time, ready, oldest int64, more int) {
		must(true, s.node.Store().DB().Write(s.Context(), func(tx base.Tx, _ base.Moment) error {
			if _, err := tx.Exec(s.Context(), `insert into belfry.sampled (span, at, more) values ($1, $2, 0) on conflict do nothing`, span, at.UnixMicro()); err != nil {
				return err
			}
			for _, namespace := range []string{"*", "default"} {
				if _, err := tx.Exec(s.Context(), `
					insert into belfry.queue_samples (queue, namespace, span, at, ready, more, oldest, running)
					values ('default', $1, $2, $3, $4, $5, $6, 2) on conflict do nothing`, namespace, span, at.UnixMicro(), ready, more, oldest*1_000_000); err != nil {
					return err
				}
			}
			return nil
		}))(s)
	}
	now := time.Now()
	for i := range int64(170) {
		if i > 60 && i <= 80 {
			continue // no node was there
		}
		n := 400 + (i*i*37)%900
		more := 0
		if i > 20 && i < 30 {
			n, more = 10_000, 1
		}
		put(60, now.Truncate(time.Minute).Add(-time.Duration(i+1)*time.Minute), n, n/9, more)
	}
	for i := range int64(7 * 24) {
		put(3600, now.Truncate(time.Hour).Add(-time.Duration(i+1)*time.Hour), 300+(i*53)%700, 60+i, 0)
	}
}

// The charts of a queue show the samples that there are, and nothing where none was taken.
func TestDepthOfAQueue(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	_, body := v.get("/queues/default")
	_, chart, _ := strings.Cut(body, "<figcaption>Depth")
	chart, _, _ = strings.Cut(chart, "</figure>")
	at := func(ago time.Duration) string {
		row := time.Now().UTC().Truncate(time.Minute).Add(-ago).Format(time.RFC3339)
		_, after, _ := strings.Cut(chart, row)
		cells, _, found := strings.Cut(after, "</tr>")
		if !found {
			return "missing"
		}
		_, cells, _ = strings.Cut(cells, "</th>")
		return strings.NewReplacer("<td>", " ", "</td>", "").Replace(cells)
	}
	// Minutes may pass while this runs: the wave is the same at neighbours or is not asked for.
	for _, want := range []struct {
		ago  time.Duration
		text string
	}{{26 * time.Minute, " 10000 2"}, {70 * time.Minute, "missing"}} {
		if got := at(want.ago); got != want.text {
			t.Errorf("%s ago: %q, want %q", want.ago, got, want.text)
		}
	}
	if n := strings.Count(chart, "<td></td><td></td>"); n != 1 {
		t.Errorf("%d empty rows for one gap", n)
	}
	own, _ := s.token("far", "far", access.ScopeRead)
	if _, body := s.visitor(own).get("/queues/default?namespace=far"); strings.Contains(body, ">10000<") || !strings.Contains(body, "Depth: most jobs") {
		t.Error("a token for one namespace sees the depth of others")
	}
	if _, body := s.visitor(own).get("/queues?namespace=far"); !strings.Contains(body, "Nothing waited within 24 hours") {
		t.Error("a token for one namespace sees the depth of others in the list")
	}
	b := s.at("/queues/default")
	b.Until(`document.querySelectorAll('#charts .plot canvas').length === 2`)
	b.Follow("a[href='/queues/default?range=24h']")
	b.Shows("by 10m")
	b.Until(`document.querySelectorAll('#charts .plot canvas').length === 2`)
	b.Quiet(s.url)
}

func TestQueueIsPausedAndResumed(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	s := newSite(t)
	b := s.at("/")
	b.Key("?")
	b.Until(`document.getElementById('keys').matches(':popover-open')`)
	b.Events = nil
	jumps(b, "q")
	b.Until(`location.pathname === '/queues'`)
}
