package console_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// watched makes something of everything about monitors: page tests rely on
// these names.
//
//	channel   team, whose secret is hooks.example/s3cret    rule  all
//	monitors  api, which was down and is up, with conditions and alerts
//	          backup, a heartbeat; prices, a page with three versions
//	          old, which is paused
//	pages     public    windows  night (each week), move (once)
func (s *site) watched() {
	s.Helper()
	ctx := s.Context()
	must(s.SaveChannel(ctx, alert.Channel{Name: "team", Webhook: &alert.WebhookChannel{URL: "https://hooks.example/s3cret", Secret: "k3y"}}))(s)
	must(s.SaveAlertRule(ctx, alert.Rule{Name: "all", Channels: []string{"team"}, Group: -1}))(s)

	must(s.CreateMonitor(ctx, monitor.Monitor{
		Name: "api", Description: "What the shop asks", Tags: []string{"core"}, Public: true, Confirm: monitor.Confirm{Failures: 1}, Recover: monitor.Recover{Passes: 1},
		Check: task.Task{
			HTTP:       &task.HTTP{URL: "https://api.example/health", Auth: &task.HTTPAuth{Bearer: "t0ken"}},
			Conditions: []string{"status == 200"}, Warnings: []string{"latency < 500ms"},
		},
	}))(s)
	for i := range 12 {
		s.check("api", good(40+i*7%30))
	}
	s.check("api", task.CheckResult{
		Outcome: task.CheckFail, Code: task.CodeStatus, Message: "status 503, not 200-299", Status: 503, IP: "192.0.2.7", Latency: core.Duration(90 * time.Millisecond),
		Conditions: []task.ConditionResult{{Text: "status == 200", Value: "status = 503"}},
		Snapshot: &task.Snapshot{
			Status: "503 Service Unavailable", Headers: map[string]string{"Content-Type": "text/html", "X-Long": strings.Repeat("long ", 40)},
			Body: `<h1>Sorry</h1><script>alert("no")</script>` + "\n" + strings.Repeat("word ", 100), Cut: true,
		},
	})
	s.deliver("")
	s.check("api", good(52))
	s.deliver("the receiver answered 500")
	s.check("api", task.CheckResult{Outcome: task.CheckError, Code: task.CodeNetwork, Message: "no address can be reached"})
	s.check("api", good(48))

	must(s.CreateMonitor(ctx, monitor.Monitor{Name: "backup", Every: core.Duration(24 * time.Hour), Heartbeat: &monitor.Heartbeat{}}))(s)
	must(s.CreateMonitor(ctx, monitor.Monitor{Name: "old", Check: task.Task{TCP: &task.TCP{Address: "old.example:22"}}}))(s)
	must(s.PauseMonitor(ctx, "default", "old", time.Now().Add(48*time.Hour), "it <moves> house"))(s)

	must(s.CreateMonitor(ctx, monitor.Monitor{Name: "prices", Check: task.Task{
		Page: &task.PageCheck{URL: "https://shop.example/prices", CSS: "main .price", Baseline: task.BaselinePinned, Confirm: -1},
	}}))(s)
	for i, text := range []string{
		"Prices\nApples 10 EUR\nPears 12 EUR\nPlums 9 EUR",
		"Prices\nApples 10 EUR\nPears 14 EUR a kilo\nPlums 9 EUR",
		"Prices\nApples 11 EUR\nPears 14 EUR a kilo\nPlums 9 EUR\n<b>Figs</b> 20 EUR",
	} {
		s.check("prices", task.CheckResult{Outcome: task.CheckOK, Latency: core.Duration(80 * time.Millisecond), Page: &task.PageSeen{
			Outcome: task.PageText, Digest: fmt.Sprintf("%064d", i), ConfigHash: "c", Text: text, Matches: 3,
		}})
	}
	must(s.SaveStatusPage(ctx, public.StatusPage{Name: "public", Title: "How we are", Sections: []public.StatusSection{{Title: "Shop", Monitors: []string{"api", "shop"}}, {Tags: []string{"core"}}}}))(s)
	must(s.SaveWindow(ctx, monitor.Window{Name: "night", Tags: []string{"core"}, Rules: []schedule.Rule{{Cron: "30 2 * * SAT,SUN"}}, Lasts: core.Duration(2 * time.Hour), Zone: "Europe/Sofia"}))(s)
	next := time.Now().Add(72 * time.Hour)
	must(s.SaveWindow(ctx, monitor.Window{Name: "move", Description: "To the new house", Monitors: []string{"old"}, From: next, To: next.Add(5 * time.Hour)}))(s)
}

// good is a check that went well, with its phases.
func good(ms int) task.CheckResult {
	part := core.Duration(ms) * core.Duration(time.Millisecond) / 5
	return task.CheckResult{
		Outcome: task.CheckOK, Status: 200, IP: "192.0.2.7", Latency: 5 * part,
		Phases:     task.Phases{DNS: part / 2, Connect: part, TLS: part, FirstByte: 2 * part, Transfer: part / 2},
		Conditions: []task.ConditionResult{{Text: "status == 200", Holds: true, Value: "status = 200"}, {Text: "latency < 500ms", Holds: true, Warning: true, Value: fmt.Sprintf("latency = %dms", ms)}},
	}
}

// check has a monitor checked once.
func (s *site) check(name string, m task.CheckResult) {
	s.Helper()
	ctx := s.Context()
	asked := must(s.CheckMonitor(ctx, "default", name))(s)
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "prober", Kinds: []task.Kind{task.KindHTTP, task.KindPage, task.KindTCP}, Queues: map[string]int{task.ChecksQueue: 1}}))(s)
	c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{task.ChecksQueue: 1}}))(s)
	if len(c.Jobs) != 1 || c.Jobs[0].Job.ID != asked.ID {
		s.Fatalf("asked for job %d, and claimed %d jobs: %+v", asked.ID, len(c.Jobs), c.Jobs)
	}
	must(s.Finish(ctx, w.ID, []job.Finish{{Ref: job.Ref{JobID: asked.ID, Lease: c.Lease}, Outcome: job.OutcomeOK, Check: &m}}))(s)
	if err := s.CloseSession(ctx, w.ID); err != nil {
		s.Fatal(err)
	}
}

// deliver returns what is to be told, and has the receiver say this of it.
func (s *site) deliver(said string) {
	s.Helper()
	st := s.node.Store()
	taken := must(st.TakeAlerts(s.Context(), "", 32))(s)
	for _, m := range taken.Messages {
		if err := st.SettleAlerts(s.Context(), m, view.DeliveryResult{Error: said, Took: core.Duration(120 * time.Millisecond)}); err != nil {
			s.Fatal(err)
		}
	}
}
