package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/hook"
)

// The promises of hooks, in the words of docs/guarantees.md and docs/guides/webhooks.md.
const (
	eventOnce  = "A change that a hook selects becomes an event in its transaction, once"
	eventComes = "An event is delivered at least once while the hook is active and the event is younger than 3 days, under one id"
	eventOrder = "One request of a hook is under way at a time, with events in the order of their ids, and later ones wait for one that failed"
	pullOrder  = "All readers of a hook see the same events in the same order"
)

// jobEnd is the end of a job, by the record.
type jobEnd struct {
	id                           int64
	namespace, task, kind, state string
	at                           int64
}

// arrives records that an event has reached the receiver of a hook.
func (w *world) arrives(name string, e hook.Event, ordered bool) {
	w.mu.Lock()
	m := w.diary.mail(name)
	last := int64(0)
	if len(m.first) > 0 {
		last = m.first[len(m.first)-1]
	}
	before, again := m.events[e.ID]
	if !again {
		m.events[e.ID], m.first = e, append(m.first, e.ID)
	}
	w.mu.Unlock()
	switch {
	case again && said(before) != said(e):
		w.broken(eventComes, "event %d of hook %s is %s, and was %s", e.ID, name, said(e), said(before))
	case !again && ordered && e.ID < last:
		w.broken(eventOrder, "event %d of hook %s comes after event %d", e.ID, name, last)
	}
}

// said returns the text of an event.
func said(e hook.Event) string {
	text := fmt.Sprint(e.Type, " ", e.At.UnixMicro())
	if e.Job != nil {
		text += fmt.Sprint(" ", e.Job.ID, " ", e.Job.Attempt, " ", e.Job.State)
	}
	if e.Schedule != nil {
		text += fmt.Sprint(" ", e.Schedule.Name, " ", e.Schedule.Nominal)
	}
	return text
}

// pulled records the events that a program got.
func (w *world) pulled(m *mail, out hook.Pulled) {
	if out.Missed > 0 {
		w.broken(pullOrder, "%d events are missed", out.Missed)
	}
	for _, e := range out.Events {
		w.mu.Lock()
		before := m.cursors[e.Cursor]
		m.cursors[e.Cursor] = e.ID
		w.mu.Unlock()
		if before != 0 && before != e.ID {
			w.broken(pullOrder, "event %d is at %s, and event %d was", e.ID, e.Cursor, before)
		}
		w.arrives("pulled", e.Event, false)
	}
}

// undelivered returns how many events of posted hooks were not accepted.
func (w *world) undelivered() int {
	return len(w.rows(`select id from belfry_hook_events where sent_at = 0 and hook_id in (select id from belfry_hooks where pull = 0)`))
}

// resumeHooks resumes paused or disabled hooks at the end of a run.
func (w *world) resumeHooks(ctx context.Context, pause func(ctx context.Context, namespace, name string, paused bool) (hook.Hook, error)) {
	for _, row := range w.rows(`select name from belfry_hooks where paused = 1 or disabled_at > 0`) {
		if _, err := pause(ctx, "default", row[0], false); err != nil {
			w.broken(itself, "resume hook %s: %v", row[0], err)
		}
	}
}

// auditHooks compares the received events with the ends of jobs at the end of a run.
func (w *world) auditHooks() {
	if !w.script.hooks {
		return
	}
	if err := w.pull(context.Background(), w.file, 0); err != nil {
		w.broken(itself, "pull: %v", err)
	}
	if n := len(w.diary.mail("pulled").cursors); n != len(w.diary.mail("pulled").events) {
		w.broken(pullOrder, "%d places have %d events", n, len(w.diary.mail("pulled").events))
	}
	for _, row := range w.rows(`select e.id, h.name, e.type from belfry_hook_events e join belfry_hooks h on h.id = e.hook_id`) {
		if _, came := w.diary.mail(row[1]).events[number(row[0])]; !came {
			w.broken(eventComes, "event %s (%s) of hook %s never came", row[0], row[2], row[1])
		}
	}
	var ends []jobEnd
	for _, row := range w.rows(`select id, namespace, task, kind, state, finished_at from belfry_jobs_done order by id`) {
		ends = append(ends, jobEnd{number(row[0]), row[1], row[2], row[3], row[4], number(row[5])})
	}
	for _, h := range hooks {
		w.auditHook(h, ends)
	}
	w.auditRetries(ends)
	w.auditKept()
}

// auditHook compares the events of a hook with the ends of jobs.
func (w *world) auditHook(h hooked, ends []jobEnd) {
	m := w.diary.mail(h.Name)
	final := map[int64][]hook.Event{}
	for _, id := range m.first {
		if e := m.events[id]; e.Job != nil && e.Job.State != "scheduled" && e.Job.State != "ready" {
			final[e.Job.ID] = append(final[e.Job.ID], e)
		}
	}
	for _, end := range ends {
		events := final[end.id]
		at := time.UnixMicro(end.at).Sub(w.begun)
		selected := end.namespace == "default" && h.wants(end)
		sure := m.saved > 0 && (m.asked == 0 || at > m.saved && !w.script.clock)
		switch {
		case w.mayEndTwice(end):
			if selected && sure && len(events) == 0 {
				w.broken(eventOnce, "job %d is %s, and hook %s has no event of it", end.id, end.state, h.Name)
			}
		case !selected && len(events) > 0:
			w.broken(eventOnce, "hook %s has event %d of job %d, which it does not select", h.Name, events[0].ID, end.id)
		case selected && (len(events) > 1 || sure && len(events) == 0):
			w.broken(eventOnce, "job %d is %s, and hook %s has %d events of it", end.id, end.state, h.Name, len(events))
		case len(events) == 1 && events[0].At.UnixMicro() != end.at:
			w.broken(eventOnce, "job %d ended at %d, and its event %d is of %d", end.id, end.at, events[0].ID, events[0].At.UnixMicro())
		}
	}
}

// auditRetries compares the events about retries with the failed attempts.
func (w *world) auditRetries(ends []jobEnd) {
	told, failed := map[int64]int{}, map[int64]int{}
	for _, e := range w.diary.mail("all").events {
		if e.Type == hook.JobRetrying {
			told[e.Job.ID]++
		}
	}
	for _, row := range w.rows(`select job_id, count(*) from belfry_attempts where outcome in ('error', 'timeout', 'lost') group by job_id`) {
		failed[number(row[0])] = int(number(row[1]))
	}
	for _, end := range ends {
		if end.namespace == "default" && end.kind == "func" && end.state == "succeeded" && !w.mayEndTwice(end) && told[end.id] != failed[end.id] {
			w.broken(eventOnce, "job %d has failed %d times before its success, and has %d events of that", end.id, failed[end.id], told[end.id])
		}
	}
}

// mayEndTwice reports whether a job may have been retried by hand.
func (w *world) mayEndTwice(end jobEnd) bool {
	if w.diary.retried[end.id] {
		return true
	}
	if end.task != "part" && end.task != "order" {
		return false
	}
	for _, r := range w.diary.runs {
		if w.diary.retried[r.id] {
			return true
		}
	}
	return false
}

// auditKept checks the retention of events, when no node is up.
func (w *world) auditKept() {
	time.Sleep(hook.Keep - time.Hour)
	before := w.rows(`select id, at from belfry_hook_events`)
	for more := true; more; {
		var err error
		if more, err = w.file.Prune(context.Background()); err != nil {
			w.broken(itself, "prune: %v", err)
			return
		}
	}
	there := map[string]bool{}
	for _, row := range w.rows(`select id from belfry_hook_events`) {
		there[row[0]] = true
	}
	for _, row := range before {
		if young := time.UnixMicro(number(row[1])).After(w.now().Add(-hook.Keep)); young != there[row[0]] {
			w.broken(eventComes, "event %s of %s is kept: %v", row[0], time.UnixMicro(number(row[1])).UTC(), there[row[0]])
		}
	}
}
