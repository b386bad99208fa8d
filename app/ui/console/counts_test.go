package console_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// navCounts are the numbers of the navigation that a person sees.
func navCounts(b *browser.Tab) string {
	b.T.Helper()
	var found string
	b.Eval(`[...document.querySelectorAll('.side .count')].filter(e => e.checkVisibility()).map(e => e.id.slice(6) + ' ' + e.textContent).join(', ')`, &found)
	return found
}

// The counts of the navigation are what was done, in the namespace that is shown
// and for the token that looks.
func TestCountsOfTheNavigation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	s.someJobs() // broken fails once, hello runs, shop is down, three of later wait
	s.fail("broken", "the disk is full")
	must(s.CreateTask(ctx, task.Task{Namespace: "other", Name: "far", Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 1}}))(s)
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "far", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"far"}, Queues: map[string]int{"default": 9}, TTL: job.MaxSessionTTL}))(s)
	must(s.Enqueue(ctx, []job.NewJob{{Namespace: "other", Task: "far"}, {Namespace: "other", Task: "far"}}))(s)
	c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{"default": 9}}))(s)
	if len(c.Jobs) != 2 {
		t.Fatalf("claimed %d jobs", len(c.Jobs))
	}
	here, _ := s.token("here", "default", access.ScopeRead)
	there, _ := s.token("there", "other", access.ScopeRead)
	far, none := "jobs 2 running", ""
	near := "jobs 1 running, dead 2 failed, monitors 1 down"
	for _, tt := range []struct{ secret, path, want string }{
		{s.admin, "/queues", near},
		{s.admin, "/queues?namespace=other", far},
		{s.admin, "/queues?namespace=*", "jobs 3 running, dead 2 failed, monitors 1 down"},
		{s.admin, "/queues?namespace=nobody", none},
		{here, "/tasks", near},
		{there, "/tasks", far},
		{there, "/tasks?namespace=default", none}, // which the token may not see
	} {
		b := s.tab(tt.secret)
		b.Visit(s.url + tt.path)
		if got := navCounts(b); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
		}
	}
	b := s.tab(there)
	b.Visit(s.url + "/settings/channels/-new") // a page without a live part
	must(s.Finish(ctx, w.ID, []job.Finish{
		{Ref: job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}, Outcome: job.OutcomeError, Error: "no", NoRetry: true},
	}))(s)
	s.fail("broken", "of another namespace")
	b.Until(`document.getElementById('count-dead').checkVisibility() && document.getElementById('count-jobs').textContent.startsWith('1 ')`) // they are counted one by one
	if got, want := navCounts(b), "jobs 1 running, dead 1 failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Quiet(s.url, 403)
}

// Counting ends at a cap and says so.
func TestCountsEndAtTheirCap(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	const many = 1003
	must(s.CreateTask(ctx, task.Task{Name: "bulk", Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 1}}))(s)
	for done := 0; done < many; {
		batch := make([]job.NewJob, min(200, many-done))
		for i := range batch {
			batch[i] = job.NewJob{Task: "bulk"}
		}
		must(s.Enqueue(ctx, batch))(s)
		w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "bulk", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"bulk"}, Queues: map[string]int{"default": len(batch)}}))(s)
		for left := len(batch); left > 0; {
			c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{"default": left}}))(s)
			var ends []job.Finish
			for _, j := range c.Jobs {
				ends = append(ends, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: c.Lease}, Outcome: job.OutcomeError, Error: "no", NoRetry: true})
			}
			must(s.Finish(ctx, w.ID, ends))(s)
			left -= len(c.Jobs)
		}
		done += len(batch)
	}
	b := s.tab(s.admin)
	b.Visit(s.url + "/queues")
	if got := navCounts(b); got != "dead 999+ failed" {
		t.Error(got)
	}
}

// The menu of namespaces lists those that exist, to who may see all.
func TestNamespacesToChooseFrom(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	must(s.CreateTask(t.Context(), task.Task{Namespace: "other", Name: "far", Kind: task.KindFunc}))(s)
	b := s.at("/queues?namespace=nobody")
	var names string
	b.Eval(`[...document.querySelectorAll('.top .namespace .choose a')].map(e => e.textContent).join()`, &names)
	if names != "all namespaces,default,other,team-limited,nobody" {
		t.Errorf("the menu has %s", names)
	}
	b.Click(".namespace summary")
	b.Axe()
	picture(b, "namespaces")
	b.Follow(".namespace a:nth-of-type(3)")
	b.Until(`location.search === '?namespace=other' && location.pathname === '/queues'`)
	b.Quiet(s.url)
	own, _ := s.token("own", "other", access.ScopeRead)
	if _, body := s.visitor(own).get("/queues"); strings.Contains(body, "team-limited") {
		t.Error("another namespace is told of")
	}
}
