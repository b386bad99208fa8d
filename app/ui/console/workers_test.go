package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func TestWorkerIsDrained(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	w := must(s.OpenSession(t.Context(), job.WorkerInfo{Name: "gpu-1", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 4}, Version: "test",
		TTL: job.MaxSessionTTL, Has: task.Has{Labels: map[string]string{"gpu": "true"}, OS: "linux", Arch: "arm64", Isolation: task.IsolationConfined}}))(s)
	b := s.at("/workers")
	b.Shows("gpu-1", "gpu=true", "confined", "default 0 of 4")
	b.Follow("#worker-" + w.ID + " a")
	b.Shows("gpu-1", "active", "linux/arm64", "Slots by queue", "0 of 4", "Landlock and seccomp", "Nothing at the moment.")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	opens(b, "drain")
	b.Shows("Drain gpu-1?")
	says(b, "#drain", "belfry worker drain "+w.ID, "/v1/workers/"+w.ID+"/drain")
	s.sends(b, "#drain button.danger", "claims no more", "draining")
	for _, as := range []int{1200, 360} {
		b.Emulate("dark", as)
		b.Layout()
		picture(b, "worker-"+numberText(int64(as)))
	}
	b.Axe()
}

// The use of slots is that of all running jobs, however many, and is not told to those who may not know of some.
func TestWorkersShowTheUseOfAllSlots(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx := t.Context()
	must(s.SaveQueue(ctx, job.Queue{Name: "mail", Concurrency: 50}))(s)
	var sessions []string
	for i, take := range []map[string]int{{"default": 640, "mail": 17}, {"default": 3, "mail": 50}} {
		w := must(s.OpenSession(ctx, job.WorkerInfo{Name: fmt.Sprint("big-", i), Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"hello"}, Queues: map[string]int{"default": 700, "mail": 0}, TTL: job.MaxSessionTTL}))(s)
		for queue, n := range take {
			must(s.Enqueue(ctx, slices.Repeat([]job.NewJob{{Task: "hello", Queue: queue}}, n)))(s)
			for n > 0 { // a claim brings a part of so many
				c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{queue: n}}))(s)
				if n -= len(c.Jobs); len(c.Jobs) == 0 {
					t.Fatalf("%d jobs of %s are not claimed", n, queue)
				}
			}
		}
		sessions = append(sessions, w.ID)
	}
	v := s.visitor(s.admin)
	_, list := v.get("/workers")
	for _, says := range []string{"default 640 of 700 · mail 17 of 50", "default 3 of 700 · mail 50 of 50"} {
		if !strings.Contains(list, says) {
			t.Errorf("the list does not say %q: %s", says, words(list))
		}
	}
	_, one := v.get("/workers/" + sessions[0])
	for _, says := range []string{"640 of 700", "17 of 50"} {
		if !strings.Contains(one, says) {
			t.Errorf("the page does not say %q: %s", says, words(one))
		}
	}
	team, _ := s.token("team", "team", "read")
	if _, list = s.visitor(team).get("/workers"); !strings.Contains(list, "default 700 · mail 50") || strings.Contains(list, " of 700") {
		t.Errorf("a token of another namespace sees %s", words(list))
	}
	b := s.at("/workers")
	b.Shows("default 640 of 700")
	b.Layout()
	picture(b, "workers-busy")
}

func TestTheWorkerPageShowsHeldJobs(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	session, ref := s.hold("later")
	b := s.tab(s.admin)
	b.Visit(s.url + "/workers/" + session)
	b.Shows("Running jobs", "later", numberText(ref.JobID), "running")
	b.Layout()
	b.Axe()
	b.Quiet(s.url)
}

func TestQueueIsMadeEditedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/queues/-new")
	b.Type("#f-name", "default")
	s.refused(b, "form[action='/queues/-new'] button.main", 409, "There is a queue default already.")
	b.Visit(s.url + "/queues/-new")
	put(b, "#f-name", "mail")
	b.Type("#f-global_limit", "3")
	b.Type("#f-priority", "5000")
	s.refused(b, "form[action='/queues/-new'] button.main", 422, "1000")
	b.Eval(`document.getElementById('f-priority').value = '5', true`, new(bool))
	s.sends(b, "form[action='/queues/-new'] button.main", "Queue mail is saved.", "No job of it has ended")
	b.Visit(s.url + "/queues/mail/edit")
	b.Type("#f-description", "Letters")
	b.Type("#f-max_waiting", "20000")
	b.Eval(`document.getElementById('f-on_full').value = 'drop_oldest', true`, new(bool))
	b.Type("#f-ageing", "soon")
	b.Type("#f-limits", "running=no")
	b.Type("#f-fair-key", "input.customer")
	b.Type("#f-fair-weights", "acme")
	s.refused(b, "form[action='/queues/mail/edit'] button.main", 422, "is not a length of time", "such as acme=3", "such as key=input.customer,running=5")
	b.Eval(`document.getElementById('f-limits').value = 'running=20\nname=each,key=input.customer,rate=5/1s', true`, new(bool))
	b.Eval(`document.getElementById('f-fair-weights').value = 'acme=3', true`, new(bool))
	b.Eval(`document.getElementById('f-ageing').value = '5 seconds', true`, new(bool))
	s.refused(b, "form[action='/queues/mail/edit'] button.main", 422, "the most with drop_oldest", "is outside 10s to 31d")
	b.Eval(`document.getElementById('f-ageing').value = '10 minutes', true`, new(bool))
	b.Eval(`document.getElementById('f-max_waiting').value = '1000', true`, new(bool))
	s.sends(b, "form[action='/queues/mail/edit'] button.main", "Letters", "then the oldest of the lowest priority are dropped", "one priority for each 10m that a job waits", "Limit 1: 20 at once", "Limit each: 5/1s, for each input.customer")
	picture(b, "queue-limits")
	if q := must(s.Queue(t.Context(), "mail"))(s); q.GlobalLimit != 3 || q.Priority != 5 || q.MaxWaiting != 1000 || q.OnFull != job.OnFullDropOldest || q.Ageing.String() != "10m" || q.Concurrency != job.DefaultConcurrency || q.Description != "Letters" ||
		len(q.Limits) != 2 || q.Limits[0].Running != 20 || q.Limits[1].Rate != "5/1s" || q.Fair == nil || q.Fair.Key != "input.customer" || q.Fair.Weights["acme"] != 3 {
		t.Errorf("%+v", q)
	}
	opens(b, "delete")
	s.sends(b, "#delete button.danger", "Queue mail is deleted.")
}
