package storetest

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a text that is no text is refused wherever it is given, and changes nothing", caseATextThatIsNoTextIsRefused)
}

// caseATextThatIsNoTextIsRefused is the same on both databases, although SQLite could store such texts.
func caseATextThatIsNoTextIsRefused(b *bench) {
	b.task("t")
	b.schedule("s", "t", every(1e9))
	b.monitor("m", func(m *monitor.Monitor) { m.Check = task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}} })
	session := b.session("t")
	j := b.enqueue(job.NewJob{Task: "t"})
	for _, text := range []string{"a\x00b", "a\xffb", "\xed\xa0\x80"} {
		for name, call := range map[string]func() error{
			"pause of a queue":    func() error { _, err := b.st.PauseQueue(b.ctx, "default", text); return err },
			"pause of a schedule": func() error { _, err := b.st.PauseSchedule(b.ctx, "default", "s", text); return err },
			"task of a job":       func() error { _, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: text}}); return err },
			"task of a batch":     func() error { _, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t"}, {Task: text}}); return err },
			"tag of a search":     func() error { _, err := b.st.Jobs(b.ctx, job.Filter{Namespace: "default", Tag: text}); return err },
			"names of a list": func() error {
				_, err := b.st.Titles(b.ctx, view.Named{Namespace: "default", Tasks: []string{"t", text}})
				return err
			},
			"session to drain": func() error { return b.st.DrainWorker(b.ctx, text) },
			"session to end":   func() error { return b.st.CloseSession(b.ctx, text) },
			"note of a cancel": func() error {
				_, err := b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{j.ID}, Note: text})
				return err
			},
		} {
			if err := call(); core.CodeOf(err) != core.Invalid {
				b.Errorf("%s with %q: got %v, want an error", name, text, err)
			}
		}
		_, err := b.st.PauseMonitor(b.ctx, "default", "m", Epoch.AddDate(1, 0, 0), text)
		wantCode(b, err, core.Invalid)
	}
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 1)
	b.wantState(j.ID, job.Ready)
	want(b, "sessions", b.count(`select count(*) from belfry.sessions`), 1)
	if s := b.get("s"); s.State == "paused" {
		b.Errorf("schedule: got %+v, want it still active", s)
	}
	b.claim(session, 1)
}
