package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// scene is a service on a database of its own, whose clock stands still unless
// it is moved.
type scene struct {
	httpapi.Service
	clock  *storetest.Clock
	store  *store.Store
	worker string // session
	url    string // of the API, if it stands between
}

func newScene(t *testing.T, overHTTP bool) *scene {
	t.Helper()
	clock := storetest.NewClock()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Clock: clock.Now}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &scene{Service: st, clock: clock, store: st}
	_, secret, err := st.CreateToken(t.Context(), access.Token{Name: "root", Namespace: core.AnyNamespace, Scopes: access.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	if !overHTTP {
		return s
	}
	api, err := httpapi.New(httpapi.Options{Service: st, Auth: st, Secrets: st, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api.Handler())
	client, err := client.New(srv.URL, secret, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		api.Close()
		srv.Close()
	})
	s.Service, s.url = client, srv.URL
	return s
}

// look has a worker make a check that was asked for, and see m.
func (s *scene) look(ctx context.Context, namespace, monitor string, m task.CheckResult) (any, error) {
	s.clock.Move(time.Minute)
	if s.worker == "" {
		w, err := s.OpenSession(ctx, job.WorkerInfo{Name: "w", Namespace: core.AnyNamespace, Kinds: task.Kinds, Queues: map[string]int{task.ChecksQueue: 5}})
		if err != nil {
			return nil, err
		}
		s.worker = w.ID
	}
	if _, err := s.Renew(ctx, s.worker, job.Held()); err != nil {
		return nil, err
	}
	if _, err := s.CheckMonitor(ctx, namespace, monitor); err != nil {
		return nil, err
	}
	claim, err := s.Claim(ctx, job.ClaimRequest{Session: s.worker, Want: map[string]int{task.ChecksQueue: 5}})
	if err != nil || len(claim.Jobs) == 0 {
		return "nothing was claimed", err
	}
	var all []job.Finish
	for _, j := range claim.Jobs {
		all = append(all, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: claim.Lease}, Outcome: job.OutcomeOK, Check: &m})
	}
	return s.Finish(ctx, s.worker, all)
}

func text(outcome, digest, text string) task.CheckResult {
	return task.CheckResult{Outcome: task.CheckOutcome(outcome), Latency: core.Duration(20 * time.Millisecond), Page: &task.PageSeen{
		Outcome: task.PageText, Digest: digest, ConfigHash: "c", Text: text, Matches: 1,
	}}
}

type step struct {
	name string
	do   func(ctx context.Context, s *scene) (any, error)
}

// monitorSteps is a life of some monitors and of who is told of them.
func monitorSteps() []step {
	const ns = "team"
	shop := monitor.Monitor{Namespace: ns, Name: "shop", Tags: []string{"web"}, Public: true, Check: task.Task{
		HTTP: &task.HTTP{URL: "https://shop.example/", Auth: &task.HTTPAuth{Bearer: "hunter2"}}, Conditions: []string{"status == 200"},
	}}
	page := monitor.Monitor{Namespace: ns, Name: "price", Check: task.Task{Page: &task.PageCheck{URL: "https://shop.example/price", Confirm: -1}}}
	beat := monitor.Monitor{Namespace: ns, Name: "backup", Heartbeat: &monitor.Heartbeat{}, Every: core.Duration(time.Hour)}
	good := task.CheckResult{Outcome: task.CheckOK, Status: 200, Latency: core.Duration(40 * time.Millisecond), Phases: task.Phases{DNS: core.Duration(time.Millisecond)}}
	bad := task.CheckResult{
		Outcome: task.CheckFail, Code: task.CodeStatus, Message: "status 503", Status: 503, Latency: core.Duration(10 * time.Millisecond),
		Conditions: []task.ConditionResult{{Text: "status == 200", Value: "status = 503"}}, Snapshot: &task.Snapshot{Status: "503", Body: "<b>"},
	}
	doc := view.DocumentFilter{Namespace: ns, Paging: core.Paging{Limit: 1}}
	first := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	return []step{
		{"channel", func(ctx context.Context, s *scene) (any, error) {
			return s.SaveChannel(ctx, alert.Channel{Namespace: ns, Name: "ops", Slack: &alert.SlackChannel{URL: "https://hooks.example/hunter2"}})
		}},
		{"channel again, as shown", func(ctx context.Context, s *scene) (any, error) {
			return s.SaveChannel(ctx, alert.Channel{Namespace: ns, Name: "ops", Description: "d", Slack: &alert.SlackChannel{URL: core.Redacted}})
		}},
		{"bad channel", func(ctx context.Context, s *scene) (any, error) {
			return s.SaveChannel(ctx, alert.Channel{Namespace: ns, Name: "bad", Ntfy: &alert.NtfyChannel{}})
		}},
		{"rule", func(ctx context.Context, s *scene) (any, error) {
			return s.SaveAlertRule(ctx, alert.Rule{Namespace: ns, Name: "all", Channels: []string{"ops"}})
		}},
		{"rule to nowhere", func(ctx context.Context, s *scene) (any, error) {
			return s.SaveAlertRule(ctx, alert.Rule{Namespace: ns, Name: "bad", Channels: []string{"nobody"}})
		}},
		{"channel that is named", func(ctx context.Context, s *scene) (any, error) { return nil, s.DeleteChannel(ctx, ns, "ops") }},
		{"create", func(ctx context.Context, s *scene) (any, error) { return s.CreateMonitor(ctx, shop) }},
		{"create again", func(ctx context.Context, s *scene) (any, error) { return s.CreateMonitor(ctx, shop) }},
		{"create a page", func(ctx context.Context, s *scene) (any, error) { return s.CreateMonitor(ctx, page) }},
		{"create a heartbeat", func(ctx context.Context, s *scene) (any, error) { return s.CreateMonitor(ctx, beat) }},
		{"create badly", func(ctx context.Context, s *scene) (any, error) {
			return s.CreateMonitor(ctx, monitor.Monitor{Namespace: ns, Name: "x", Check: task.Task{TCP: &task.TCP{Address: "nowhere"}}, DependsOn: []string{"x"}})
		}},
		{"look, good", func(ctx context.Context, s *scene) (any, error) { return s.look(ctx, ns, "shop", good) }},
		{"look, bad", func(ctx context.Context, s *scene) (any, error) { return s.look(ctx, ns, "shop", bad) }},
		{"look, bad again", func(ctx context.Context, s *scene) (any, error) { return s.look(ctx, ns, "shop", bad) }},
		{"show", func(ctx context.Context, s *scene) (any, error) { return s.Monitor(ctx, ns, "shop") }},
		{"show none", func(ctx context.Context, s *scene) (any, error) { return s.Monitor(ctx, ns, "none") }},
		{"list those down", func(ctx context.Context, s *scene) (any, error) {
			return s.Monitors(ctx, view.MonitorFilter{Namespace: core.AnyNamespace, Status: monitor.StatusDown, Tag: "web"})
		}},
		{"list one at a time", func(ctx context.Context, s *scene) (any, error) {
			p, err := s.Monitors(ctx, view.MonitorFilter{Namespace: ns, Paging: core.Paging{Limit: 2}})
			if err != nil {
				return nil, err
			}
			rest, err := s.Monitors(ctx, view.MonitorFilter{Namespace: ns, Paging: core.Paging{Limit: 2, Cursor: p.Next}})
			return []any{p, rest}, err
		}},
		{"results", func(ctx context.Context, s *scene) (any, error) {
			return s.Results(ctx, view.ResultFilter{Namespace: ns, Monitor: "shop", Outcome: task.CheckFail})
		}},
		{"series", func(ctx context.Context, s *scene) (any, error) {
			return s.Series(ctx, view.SeriesQuery{Namespace: ns, Monitor: "shop", Step: core.Duration(time.Minute)})
		}},
		{"series of nothing", func(ctx context.Context, s *scene) (any, error) {
			return s.Series(ctx, view.SeriesQuery{Namespace: ns, Monitor: "shop", From: first, To: first})
		}},
		{"uptime", func(ctx context.Context, s *scene) (any, error) { return s.Uptime(ctx, ns, "shop") }},
		{"timeline", func(ctx context.Context, s *scene) (any, error) { return s.Timeline(ctx, ns, "shop", time.Time{}) }},
		{"incidents", func(ctx context.Context, s *scene) (any, error) {
			return s.Incidents(ctx, view.IncidentFilter{Namespace: core.AnyNamespace, Open: true})
		}},
		{"incident", func(ctx context.Context, s *scene) (any, error) { return s.Incident(ctx, ns, 1) }},
		{"incident of others", func(ctx context.Context, s *scene) (any, error) { return s.Incident(ctx, "other", 1) }},
		{"acknowledge", func(ctx context.Context, s *scene) (any, error) { return s.AcknowledgeIncident(ctx, ns, 1, "mine") }},
		{"acknowledge of others", func(ctx context.Context, s *scene) (any, error) { return s.AcknowledgeIncident(ctx, "other", 1, "") }},
		{"update", func(ctx context.Context, s *scene) (any, error) {
			return s.UpdateIncident(ctx, ns, 1, monitor.Update{State: monitor.IncidentIdentified, Text: "a full disk", Public: true})
		}},
		{"update without text", func(ctx context.Context, s *scene) (any, error) {
			return s.UpdateIncident(ctx, ns, 1, monitor.Update{State: "fixed"})
		}},
		{"incident with an update", func(ctx context.Context, s *scene) (any, error) { return s.Incident(ctx, ns, 1) }},
		{"unacknowledge", func(ctx context.Context, s *scene) (any, error) { return s.UnacknowledgeIncident(ctx, ns, 1) }},
		{"assign", func(ctx context.Context, s *scene) (any, error) { return s.AssignIncident(ctx, ns, 1, "ann") }},
		{"assigned", func(ctx context.Context, s *scene) (any, error) {
			return s.Incidents(ctx, view.IncidentFilter{Namespace: ns, Assigned: "ann"})
		}},
		{"unassign", func(ctx context.Context, s *scene) (any, error) { return s.UnassignIncident(ctx, ns, 1) }},
		{"alerts", func(ctx context.Context, s *scene) (any, error) {
			return s.Alerts(ctx, alert.Filter{Namespace: ns, Monitor: "shop", Channel: "ops"})
		}},
		{"tries", func(ctx context.Context, s *scene) (any, error) { return s.AlertTries(ctx, ns, 1) }},
		{"tries of nothing", func(ctx context.Context, s *scene) (any, error) { return s.AlertTries(ctx, ns, 99) }},
		{"pause", func(ctx context.Context, s *scene) (any, error) {
			return s.PauseMonitor(ctx, ns, "shop", s.clock.Now().Add(time.Hour), "repairs")
		}},
		{"pause until yesterday", func(ctx context.Context, s *scene) (any, error) {
			return s.PauseMonitor(ctx, ns, "shop", first, "")
		}},
		{"check while paused", func(ctx context.Context, s *scene) (any, error) { return s.CheckMonitor(ctx, ns, "shop") }},
		{"resume", func(ctx context.Context, s *scene) (any, error) { return s.ResumeMonitor(ctx, ns, "shop") }},
		{"edit, as shown", func(ctx context.Context, s *scene) (any, error) {
			edit := shop.Redacted()
			edit.Description = "d"
			return s.UpdateMonitor(ctx, edit)
		}},
		{"page, first", func(ctx context.Context, s *scene) (any, error) {
			return s.look(ctx, ns, "price", text("ok", "d1", "9.99\nEUR"))
		}},
		{"page, second", func(ctx context.Context, s *scene) (any, error) {
			return s.look(ctx, ns, "price", text("ok", "d2", "8.99\nEUR"))
		}},
		{"page, second again", func(ctx context.Context, s *scene) (any, error) {
			return s.look(ctx, ns, "price", text("ok", "d2", "8.99\nEUR"))
		}},
		{"versions", func(ctx context.Context, s *scene) (any, error) {
			return s.PageVersions(ctx, view.VersionFilter{Namespace: ns, Monitor: "price"})
		}},
		{"version", func(ctx context.Context, s *scene) (any, error) { return s.PageVersion(ctx, ns, "price", 1) }},
		{"newest version", func(ctx context.Context, s *scene) (any, error) { return s.PageVersion(ctx, ns, "price", 0) }},
		{"baseline", func(ctx context.Context, s *scene) (any, error) { return s.PageVersion(ctx, ns, "price", -1) }},
		{"version that is not there", func(ctx context.Context, s *scene) (any, error) { return s.PageVersion(ctx, ns, "price", 9) }},
		{"versions of no page", func(ctx context.Context, s *scene) (any, error) {
			return s.PageVersions(ctx, view.VersionFilter{Namespace: ns, Monitor: "shop"})
		}},
		{"accept", func(ctx context.Context, s *scene) (any, error) { return s.AcceptPage(ctx, ns, "price", 1) }},
		{"beats", func(ctx context.Context, s *scene) (any, error) {
			v, err := s.Monitor(ctx, ns, "backup")
			if err != nil {
				return nil, err
			}
			key := strings.TrimPrefix(v.Beat, "/beat/")
			three := 3
			for _, call := range []monitor.Call{{Kind: monitor.CallStart}, {Kind: monitor.CallLog, Message: "half"}, {Kind: monitor.CallSuccess, Message: "done"}, {Kind: monitor.CallFail, ExitCode: &three}} {
				s.clock.Move(time.Second)
				if _, err := s.Beat(ctx, key, call); err != nil {
					return nil, err
				}
			}
			return s.Results(ctx, view.ResultFilter{Namespace: ns, Monitor: "backup"})
		}},
		{"beat of nobody", func(ctx context.Context, s *scene) (any, error) {
			return s.Beat(ctx, strings.Repeat("0", 32), monitor.Call{Kind: monitor.CallSuccess})
		}},
		{"check of a heartbeat", func(ctx context.Context, s *scene) (any, error) { return s.CheckMonitor(ctx, ns, "backup") }},
		{"window", func(ctx context.Context, s *scene) (any, error) {
			return s.SaveWindow(ctx, monitor.Window{Namespace: ns, Name: "nightly", Rules: []schedule.Rule{{Cron: "0 3 * * *"}}, Lasts: core.Duration(time.Hour)})
		}},
		{"windows", func(ctx context.Context, s *scene) (any, error) { return s.Windows(ctx, doc) }},
		{"status page", func(ctx context.Context, s *scene) (any, error) {
			return s.SaveStatusPage(ctx, public.StatusPage{Namespace: ns, Name: "public", Sections: []public.StatusSection{{Title: "Web", Tags: []string{"web"}}}})
		}},
		{"status pages", func(ctx context.Context, s *scene) (any, error) { return s.StatusPages(ctx, doc) }},
		{"channels", func(ctx context.Context, s *scene) (any, error) { return s.Channels(ctx, doc) }},
		{"rules", func(ctx context.Context, s *scene) (any, error) { return s.AlertRules(ctx, doc) }},
		{"one rule", func(ctx context.Context, s *scene) (any, error) { return s.AlertRule(ctx, ns, "all") }},
		{"one window", func(ctx context.Context, s *scene) (any, error) { return s.Window(ctx, ns, "nightly") }},
		{"one status page", func(ctx context.Context, s *scene) (any, error) { return s.StatusPage(ctx, ns, "public") }},
		{"one channel", func(ctx context.Context, s *scene) (any, error) { return s.Channel(ctx, ns, "ops") }},
		{"export", func(ctx context.Context, s *scene) (any, error) { return s.Export(ctx, ns) }},
		{"audit", func(ctx context.Context, s *scene) (any, error) {
			return s.Audit(ctx, access.AuditFilter{Namespace: ns, Paging: core.Paging{Limit: 1000}})
		}},
		{"delete", func(ctx context.Context, s *scene) (any, error) { return nil, s.DeleteMonitor(ctx, ns, "shop") }},
		{"delete a window", func(ctx context.Context, s *scene) (any, error) { return nil, s.DeleteWindow(ctx, ns, "nightly") }},
		{"delete a status page", func(ctx context.Context, s *scene) (any, error) { return nil, s.DeleteStatusPage(ctx, ns, "public") }},
		{"delete a rule", func(ctx context.Context, s *scene) (any, error) { return nil, s.DeleteAlertRule(ctx, ns, "all") }},
		{"delete a channel", func(ctx context.Context, s *scene) (any, error) { return nil, s.DeleteChannel(ctx, ns, "ops") }},
		{"what is left", func(ctx context.Context, s *scene) (any, error) {
			return s.Incidents(ctx, view.IncidentFilter{Namespace: ns, Monitor: "shop"})
		}},
	}
}

var beatURL = regexp.MustCompile(`/beat/[0-9a-f]{32}`)

// told is an answer as one can compare it.
func told(t *testing.T, v any, err error) string {
	t.Helper()
	if err != nil {
		return string(core.CodeOf(err)) + ": " + err.Error()
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return beatURL.ReplaceAllString(string(b), "/beat/KEY")
}

// TestMonitorsOverHTTPAreAsInTheStore lives the same life twice: a command on a
// database and one on a server cannot tell the difference.
func TestMonitorsOverHTTPAreAsInTheStore(t *testing.T) {
	t.Parallel()
	alike(t, monitorSteps())
}

func alike(t *testing.T, steps []step) {
	t.Helper()
	direct, remote := newScene(t, false), newScene(t, true)
	ctx := access.WithActor(t.Context(), "token:root")
	for _, st := range steps {
		want, err := st.do(ctx, direct)
		wanted := told(t, want, err)
		got, err := st.do(t.Context(), remote)
		if text := told(t, got, err); text != wanted {
			t.Errorf("%s:\n over HTTP %s\nin the store %s", st.name, text, wanted)
		}
		if strings.Contains(wanted, "hunter2") || wanted == "" {
			t.Errorf("%s: %s", st.name, wanted)
		}
	}
}

// TestABadgeAndABeatOfARealMonitor goes the way that a reader and a cron job go.
func TestABadgeAndABeatOfARealMonitor(t *testing.T) {
	t.Parallel()
	s := newScene(t, true)
	v, err := s.CreateMonitor(t.Context(), monitor.Monitor{Name: "backup", Heartbeat: &monitor.Heartbeat{}, Public: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{v.Beat, v.Beat + "/success", "/badge/default/backup/status.svg"} {
		body := fetch(t, s.url+path)
		if strings.HasPrefix(path, "/beat/") && body != "ok\n" || strings.HasPrefix(path, "/badge/") && !strings.Contains(body, "backup: up") {
			t.Errorf("%s answers %s", path, body)
		}
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
