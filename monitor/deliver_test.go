package monitor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
)

func TestStatusPagesAreChecked(t *testing.T) {
	good := func() public.StatusPage {
		return public.StatusPage{Name: "public", Sections: []public.StatusSection{{Title: "Web", Monitors: []string{"site"}}, {Tags: []string{"api"}}}}.WithDefaults()
	}
	refuses(t, good, func(s public.StatusPage) error { return s.Validate(time.Time{}) }, []refusal[public.StatusPage]{
		{"no sections", func(s *public.StatusPage) { s.Sections = nil }, "", ""},
		{"name", func(s *public.StatusPage) { s.Name = "a/b" }, "name", "is not a name"},
		{"title of two lines", func(s *public.StatusPage) { s.Title = "a\nb" }, "title", "must be one line"},
		{"long title", func(s *public.StatusPage) { s.Title = long }, "title", "must have at most 200"},
		{"many sections", func(s *public.StatusPage) { s.Sections = make([]public.StatusSection, 51) }, "sections", "more than 50"},
		{"empty section", func(s *public.StatusPage) { s.Sections[1].Tags = nil }, "sections[1].monitors", "is empty"},
		{"title of a section", func(s *public.StatusPage) { s.Sections[0].Title = "\x00" }, "sections[0].title", "must be one line"},
		{"monitor", func(s *public.StatusPage) { s.Sections[0].Monitors = []string{""} }, "sections[0].monitors[0]", "is missing"},
		{"another title", func(s *public.StatusPage) { s.Sections[0].Titles = map[string]string{"site": "Магазин"} }, "", ""},
		{"another title by tag", func(s *public.StatusPage) { s.Sections[1].Titles = map[string]string{"site": "Магазин"} }, "", ""},
		{"another title of two lines", func(s *public.StatusPage) { s.Sections[0].Titles = map[string]string{"site": "a\nb"} }, "sections[0].titles.site", "must be one line"},
		{"empty title", func(s *public.StatusPage) { s.Sections[0].Titles = map[string]string{"site": ""} }, "sections[0].titles.site", "is empty"},
		{"title of what is not there", func(s *public.StatusPage) { s.Sections[0].Titles = map[string]string{"sit": "x"} }, "sections[0].titles.sit", "is not a monitor of the section"},
		{"title of no name", func(s *public.StatusPage) { s.Sections[1].Titles = map[string]string{"a/b": "x"} }, "sections[1].titles.a/b", "is not a name"},
		{"monitor twice", func(s *public.StatusPage) { s.Sections[0].Monitors = []string{"a", "a"} }, "sections[0].monitors[1]", "is named twice"},
	})
	if good().Title != "public" {
		t.Error("the title is not the name")
	}
	s := good()
	s.Sections = append(s.Sections, public.StatusSection{Monitors: []string{"site", "db"}, Titles: map[string]string{"site": "Second", "db": "Data"}})
	s.Sections[1].Titles = map[string]string{"api": "Interface"}
	for _, test := range []struct {
		name, title string
		tags        []string
		want        string
	}{{"site", "", nil, "site"}, {"site", "Own", nil, "Own"}, {"api", "Own", []string{"api"}, "Interface"}, {"api", "Own", nil, "Own"}, {"db", "Own", nil, "Data"}} {
		if got := s.Label(test.name, test.title, test.tags, false); got != test.want {
			t.Errorf("%+v is %q", test, got)
		}
	}
}

// alertsOf parses pending alerts, numbered from 1: "down site 10:00" is the down of
// incident 5, due at 10:00. Optional are tries=N and why=REASON after it.
func alertsOf(t testing.TB, text string) (list []alert.Alert) {
	t.Helper()
	for part := range strings.SplitSeq(text, ";") {
		f := strings.Fields(part)
		if len(f) < 3 {
			t.Fatalf("%q is not an alert", part)
		}
		a := alert.Alert{ID: int64(len(list) + 1), State: alert.Pending, Channel: "mail", Rule: "all", CreatedAt: at("09:00"), Notification: alert.Notification{Type: alert.NotificationType(f[0]), Monitor: strings.Trim(f[1], "-")}, DueAt: at(f[2])}
		switch a.Notification.Type {
		case alert.NotificationDown, alert.NotificationUp, alert.NotificationReminder:
			a.Notification.Incident = 5
		}
		if a.Notification.Type == alert.NotificationReminder {
			a.Notification.Since, a.Notification.Count = a.DueAt.Add(-time.Hour), 1
		}
		for _, extra := range f[3:] {
			key, value, _ := strings.Cut(extra, "=")
			switch key {
			case "tries":
				a.Tries, a.Message = len(value), "m"+value
			case "why":
				a.Reason = strings.ReplaceAll(value, "_", " ")
			case "incident":
				_, _ = fmt.Sscan(value, &a.Notification.Incident)
			}
		}
		list = append(list, a)
	}
	return list
}

// everything is a rule that sends all notifications to one channel.
var everything = alert.Rule{Name: "all", On: alert.NotificationTypes, Channels: []string{"mail"}, Remind: core.Duration(time.Hour)}

// sightOf parses facts such as "site down; db up muted maintenance told=sent".
func sightOf(t testing.TB, text string) DeliveryFacts {
	t.Helper()
	facts := DeliveryFacts{Monitors: map[string]Facts{}, Rules: []alert.Rule{everything}}
	notified := alert.State("")
	for part := range strings.SplitSeq(text, ";") {
		f := strings.Fields(part)
		if len(f) == 0 {
			continue
		}
		m := Facts{State: State{Verdict: VerdictUp}}
		for _, word := range f[1:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "down":
				m.State.Verdict, m.State.Incident = VerdictDown, 5
			case "muted":
				m.Muted = true
			case "paused":
				m.State.PausedAt = at("09:00")
			case "maintenance":
				m.Maintenance = ActiveWindow{Name: "w", From: at("09:00"), To: at("11:00")}
			case "parent":
				m.Parent = value
			case "acknowledged":
				m.Acknowledged = value
			case "flapping":
				m.State.Flapping = true
			case "slow":
				m.State.Slow = true
			case "degraded":
				m.State.Notified = []alert.NotificationType{alert.NotificationDegraded}
			case "stale":
				m.State.Stale = true
			case "told":
				notified = alert.State(value)
			case "up":
			default:
				t.Fatalf("%q is not a fact", word)
			}
		}
		facts.Monitors[f[0]] = m
	}
	facts.Notified = func(alert.Alert) alert.State { return notified }
	return facts
}

func dispatches(list []Dispatch) string {
	var texts []string
	for _, d := range list {
		switch {
		case d.Send:
			texts = append(texts, fmt.Sprintf("%d send", d.ID))
		case !d.Until.IsZero():
			texts = append(texts, fmt.Sprintf("%d until %s: %s", d.ID, in(d.Until), d.Reason))
		default:
			texts = append(texts, fmt.Sprintf("%d no: %s", d.ID, d.Reason))
		}
	}
	return strings.Join(texts, "; ")
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	const quiet = "why=quiet_hours_until_7"
	for _, row := range []struct{ name, alerts, facts, want string }{
		{"a down", "down site 10:00", "site down", "1 send"},
		{"not due", "down site 10:01", "site down", ""},
		{"a job", "job_failed - 10:00", "", "1 send"},
		{"a test", "test - 10:00", "", "1 send"},
		{"a test does not hurry others", "test - 10:00; down site 10:01", "site down", "1 send"},

		{"the group goes with its first", "down site 10:00; down db 10:00:20; job_failed - 10:00:25", "site down; db down", "1 send; 2 send; 3 send"},
		{"not with one that is not sent", "down site 10:00; down db 10:00:20", "site down muted; db down", "1 no: the monitor is muted"},
		{"not with one that is tried again", "down site 10:00 tries=x; down db 10:00:20", "site down; db down", "1 send"},
		{"not with what is over", "up site 10:00; down db 10:00:20", "site up told=sent; db down", "1 send"},
		{"what is tried again waits for its own time", "down site 10:00; down db 10:00:20 tries=x", "site down; db down", "1 send"},
		{"nor is a reminder hurried", "down site 10:00; reminder site 11:00; reminder db 11:00", "site down; db down", "1 send"},
		{"what is quiet stays so", "down site 10:00; down db 12:00 " + quiet, "site down; db down", "1 send"},

		{"an up", "up site 10:00", "site up told=sent", "1 send"},
		{"an up whose down never got out", "up site 10:00", "site up told=failed", "1 send"},
		{"an up where no down was to go", "up site 10:00", "site up", "1 send"},
		{"an up whose down was suppressed", "up site 10:00", "site up told=suppressed", "1 no: its start was not sent"},
		{"an up whose down is being told", "up site 10:00", "site up told=pending", "1 until 10:00:05: its start is being sent"},
		{"an up in maintenance", "up site 10:00", "site up maintenance told=sent", "1 send"},
		{"an up of a parent's child", "up site 10:00", "site up parent=gw told=sent", "1 send"},
		{"an up where no down was to go, in maintenance", "up site 10:00", "site up maintenance", "1 no: maintenance w"},
		{"an up of one that is muted", "up site 10:00", "site up muted", "1 no: the monitor is muted"},
		{"an up of one that was muted since its down was told", "up site 10:00", "site up muted told=sent", "1 send"},
		{"and whose down was not taken", "up site 10:00", "site up muted told=failed", "1 no: the monitor is muted"},
		{"an up of one that was deleted", "up site 10:00", "told told=sent", "1 send"},
		{"an up of one that was deleted unsent", "up site 10:00", "", "1 no: the monitor was deleted"},

		{"both at once", "down site 10:00; up site 10:00", "site up told=pending", "1 no: sent with its end; 2 send"},
		{"the down still in its group", "down site 10:00:20; up site 10:00", "site up told=pending", "1 no: sent with its end; 2 send"},
		{"the down still being tried", "down site 10:10 tries=xxx why=refused; up site 10:00", "site up told=pending", "1 no: sent with its end; 2 send"},
		{"with a reminder", "down site 10:10 tries=x; reminder site 10:00; up site 10:00", "site up told=pending", "1 no: sent with its end; 2 no: over before it was sent; 3 send"},
		{"a reminder of what was told", "reminder site 10:10; up site 10:00", "site up told=sent", "1 no: over before it was sent; 2 send"},
		{"a reminder that is planned, of what was not told", "reminder site 11:00; up site 10:00", "site up told=suppressed", "1 no: over before it was sent; 2 no: its start was not sent"},
		{"of another outage", "down site 10:00 incident=5; up site 10:00 incident=5; down site 10:00:10 incident=6", "site up told=pending", "1 no: sent with its end; 2 send"},
		{"both in quiet hours", "down site 10:00 " + quiet + "; up site 10:00 " + quiet, "site up told=pending", "1 no: over before it was sent; 2 no: its start was not sent"},
		{"an up in quiet hours of what was told before", "up site 10:00 " + quiet, "site up told=sent", "1 send"},
		{"still down after quiet hours", "down site 10:00 " + quiet, "site down", "1 send"},
		{"both in maintenance", "down site 10:00; up site 10:00", "site up maintenance told=pending", "1 no: over before it was sent; 2 no: its start was not sent"},
		{"both while the parent was down", "down site 10:00 why=gw,_which_it_depends_on,_is_down; up site 10:00", "site up told=pending", "1 no: over before it was sent; 2 no: its start was not sent"},
		{"both of one that is muted", "down site 10:00; up site 10:00", "site up muted told=pending", "1 no: the monitor is muted; 2 no: the monitor is muted"},
		{"both of one that was deleted", "down site 10:00; up site 10:00", "", "1 no: the monitor was deleted; 2 no: its start was not sent"},

		{"over, and nobody hears of ups", "down site 10:00", "site up", "1 no: over before it was sent"},
		{"paused", "down site 10:00", "site down paused", "1 no: the monitor is paused"},
		{"muted", "down site 10:00", "site down muted", "1 no: the monitor is muted"},
		{"deleted", "down site 10:00", "", "1 no: the monitor was deleted"},
		{"twice", "down site 10:00; down site 10:00", "site down", "1 send; 2 no: sent by another alert"},
		{"maintenance", "down site 10:00", "site down maintenance", "1 until 11:00: maintenance w until 2026-03-02 11:00:00 UTC"},
		{"maintenance is over", "down site 10:00 why=maintenance_w_until", "site down", "1 send"},
		{"a page in maintenance", "changed site 10:00", "site up maintenance", "1 no: maintenance w"},
		{"a certificate in maintenance", "certificate site 10:00", "site up maintenance", "1 until 11:00: maintenance w until 2026-03-02 11:00:00 UTC"},
		{"the parent is down", "down site 10:00", "site down parent=gw", "1 until 10:01: gw, which it depends on, is down"},
		{"the parent was down", "down site 10:00 why=gw,_which_it_depends_on,_is_down", "site down", "1 until 10:03: gw, which it depends on, was down until now"},
		{"the parent is long up", "down site 10:00 why=gw,_which_it_depends_on,_was_down_until_now", "site down", "1 send"},
		{"over when the parent is up", "down site 10:00 why=gw,_which_it_depends_on,_is_down", "site up", "1 no: over before it was sent"},

		{"a reminder", "reminder site 10:00", "site down", "1 send"},
		{"a reminder beside its down", "down site 10:00; reminder site 10:00", "site down", "1 send; 2 no: sent by another alert"},
		{"two reminders", "reminder site 10:00; reminder site 10:00", "site down", "1 no: sent by another alert; 2 send"},
		{"a reminder, and one of another rule for later", "reminder site 10:00; reminder site 10:30", "site down", "1 send"},
		{"a reminder of what is acknowledged", "reminder site 10:00", "site down acknowledged=ann", "1 no: acknowledged by ann"},
		{"a down of what is acknowledged", "down site 10:00", "site down acknowledged=ann", "1 send"},
		{"an up of what was acknowledged", "reminder site 10:00; up site 10:00", "site up told=sent", "1 no: over before it was sent; 2 send"},
		{"a reminder in maintenance", "reminder site 10:00", "site down maintenance", "1 no: maintenance w"},
		{"a reminder of what is over", "reminder site 10:00", "site up", "1 no: over before it was sent"},

		{"slow", "slow site 10:00", "site up slow", "1 send"},
		{"slow and over", "slow site 10:00", "site up", "1 no: over before it was sent"},
		{"slow and normal", "slow site 10:00:20; normal site 10:00", "site up", "1 no: over before it was sent; 2 no: its start was not sent"},
		{"normal", "normal site 10:00", "site up", "1 send"},
		{"degraded", "degraded site 10:00", "site up degraded", "1 send"},
		{"flapping", "flapping site 10:00", "site up flapping", "1 send"},
		{"stale", "stale site 10:00", "site up stale", "1 send"},
		{"fresh in maintenance", "fresh site 10:00", "site up maintenance", "1 send"},
		{"steady while the parent is down", "steady site 10:00", "site up parent=gw", "1 send"},
		{"stale and fresh in maintenance", "stale site 10:00; fresh site 10:00", "site up maintenance", "1 no: over before it was sent; 2 no: its start was not sent"},
		{"fresh of another", "stale db 10:00:20; fresh site 10:00", "site up; db up stale", "2 send"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := dispatches(Deliver(alertsOf(t, row.alerts), sightOf(t, row.facts), at("10:00"))); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// TestDeliverRoutesAgain is about waiting alerts while rules and quiet hours change.
func TestDeliverRoutesAgain(t *testing.T) {
	t.Parallel()
	const (
		quiet  = " why=quiet_hours_until_7"
		window = " why=maintenance_w_until_7"
	)
	with := func(change func(*alert.Rule)) []alert.Rule {
		rule := everything
		change(&rule)
		return []alert.Rule{rule}
	}
	night := with(func(r *alert.Rule) { r.Quiet = []string{"night"} })
	moved := with(func(r *alert.Rule) { r.Channels = []string{"phone"} })
	off := with(func(r *alert.Rule) { r.Off = true })
	other := with(func(r *alert.Rule) { r.Name = "other" })
	for _, row := range []struct {
		name, alerts, facts string
		rules               []alert.Rule
		want                string
	}{
		{"still quiet", "down site 10:00" + quiet, "site down", night, "1 until 12:00: quiet hours until 2026-03-02 12:00:00 UTC"},
		{"still quiet for a job", "job_failed - 10:00" + quiet, "", night, "1 until 12:00: quiet hours until 2026-03-02 12:00:00 UTC"},
		{"quiet after maintenance", "down site 10:00" + window, "site down", night, "1 until 12:00: quiet hours until 2026-03-02 12:00:00 UTC"},
		{"quiet and over", "down site 10:00" + quiet, "site up", night, "1 no: over before it was sent"},
		{"quiet hours over", "down site 10:00" + quiet, "site down", []alert.Rule{everything}, "1 send"},
		{"rule deleted", "down site 10:00" + quiet, "site down", nil, "1 no: alert rule all was deleted"},
		{"nor for a job", "job_failed - 10:00" + quiet, "", nil, "1 no: alert rule all was deleted"},
		{"nor after maintenance", "down site 10:00" + window, "site down", nil, "1 no: alert rule all was deleted"},
		{"but another rule", "down site 10:00" + quiet, "site down", other, "1 send"},
		{"a rule that is off", "down site 10:00" + quiet, "site down", off, "1 no: alert rule all no longer sends it here"},
		{"another channel", "down site 10:00" + quiet, "site down", moved, "1 no: alert rule all no longer sends it here; phone by all at 10:00"},
		{"what waits for its group is not routed again", "down site 10:00", "site down", nil, "1 send"},
		{"nor is what was tried", "down site 10:00 tries=x" + quiet, "site down", nil, "1 send"},
		{"an end in quiet hours", "up site 10:00" + quiet, "site up told=sent", night, "1 until 12:00: quiet hours until 2026-03-02 12:00:00 UTC"},
		{"an end without a rule, of what was told", "up site 10:00" + quiet, "site up told=sent", nil, "1 send"},
		{"and of what was not", "up site 10:00" + quiet, "site up", nil, "1 no: alert rule all was deleted"},
		{"both in quiet hours that go on", "down site 10:00" + quiet + "; up site 10:00" + quiet, "site up told=pending", night, "1 no: over before it was sent; 2 until 12:00: quiet hours until 2026-03-02 12:00:00 UTC"},
		{"a reminder without its rule", "reminder site 10:00", "site down", other, "1 no: alert rule all was deleted"},
		{"a reminder of a rule that reminds later", "reminder site 10:00", "site down", with(func(r *alert.Rule) { r.Remind = span("3h") }), "1 until 12:00: "},
		{"or never", "reminder site 10:00", "site down", with(func(r *alert.Rule) { r.Remind = 0 }), "1 no: alert rule all no longer reminds of it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			facts := sightOf(t, row.facts)
			facts.Rules = row.rules
			facts.Quiet = func(rule alert.Rule, at time.Time) time.Time {
				if len(rule.Quiet) > 0 && at.Before(noon) {
					return noon
				}
				return time.Time{}
			}
			answers := Deliver(alertsOf(t, row.alerts), facts, at("10:00"))
			got := dispatches(answers)
			for _, d := range answers {
				if len(d.Instead) > 0 {
					got += "; " + deliveries(d.Instead)
				}
			}
			if got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// TestDeliverKeepsItsWord checks invariants with random alerts and facts.
func TestDeliverKeepsItsWord(t *testing.T) {
	t.Parallel()
	monitors := []string{"a", "b", "gone"}
	kinds := append(slices.Clone(alert.NotificationTypes), alert.NotificationTest, alert.NotificationDown, alert.NotificationUp)
	reasons := []string{"", "", "refused", "quiet hours until 7", "a" + whyParent, "a" + whySettling, "maintenance w until 7"}
	rapid.Check(t, func(t *rapid.T) {
		now := at("10:00")
		var alerts []alert.Alert
		for i := range rapid.IntRange(0, 8).Draw(t, "alerts") {
			a := alert.Alert{ID: int64(i + 1), Channel: "mail", Rule: "all", CreatedAt: now.Add(-time.Hour), Reason: rapid.SampledFrom(reasons).Draw(t, "reason"), Tries: rapid.IntRange(0, 1).Draw(t, "tries"), DueAt: minutesAfter(t, now, -2, 2, "due")}
			a.Notification = alert.Notification{Type: rapid.SampledFrom(kinds).Draw(t, "type"), Monitor: rapid.SampledFrom(monitors).Draw(t, "monitor"), Incident: rapid.Int64Range(0, 1).Draw(t, "incident")}
			if a.Notification.Type == alert.NotificationReminder {
				a.Notification.Since, a.Notification.Count = a.DueAt.Add(-time.Hour), 1
			}
			alerts = append(alerts, a)
		}
		facts := DeliveryFacts{Monitors: map[string]Facts{}, Rules: []alert.Rule{everything}}
		notified := rapid.SampledFrom([]alert.State{"", alert.Pending, alert.Sent, alert.Failed, alert.Suppressed}).Draw(t, "told")
		facts.Notified = func(alert.Alert) alert.State { return notified }
		for _, name := range monitors[:2] {
			m := Facts{Muted: rapid.Bool().Draw(t, "muted"), Parent: rapid.SampledFrom([]string{"", "gw"}).Draw(t, "parent")}
			m.State = State{Verdict: rapid.SampledFrom([]Verdict{VerdictUp, VerdictDown}).Draw(t, "verdict"), Incident: rapid.Int64Range(0, 1).Draw(t, "open"), Slow: rapid.Bool().Draw(t, "slow")}
			if rapid.Bool().Draw(t, "maintenance") {
				m.Maintenance = ActiveWindow{Name: "w", To: now.Add(time.Hour)}
			}
			facts.Monitors[name] = m
		}
		answers := map[int64]Dispatch{}
		for _, d := range Deliver(alerts, facts, now) {
			if _, twice := answers[d.ID]; twice {
				t.Fatalf("%d is decided twice", d.ID)
			}
			answers[d.ID] = d
		}
		ended := map[string]bool{}
		for _, a := range alerts {
			d, decided := answers[a.ID]
			m, known := facts.Monitors[a.Notification.Monitor]
			test := a.Notification.Type == alert.NotificationTest
			switch {
			case !a.DueAt.After(now) && !decided:
				t.Fatalf("%d is due and not decided", a.ID)
			case decided && !d.Send && d.Reason == "":
				t.Fatalf("%d is not sent for no reason", a.ID)
			case decided && d.Send && !d.Until.IsZero():
				t.Fatalf("%d is sent and waits", a.ID)
			case decided && !d.Until.IsZero() && !d.Until.After(now):
				t.Fatalf("%d waits until now", a.ID)
			case d.Send && m.Muted && !test && (a.Notification.Type != alert.NotificationUp || notified != alert.Sent):
				t.Fatalf("%d is sent though its monitor is muted", a.ID)
			case d.Send && !test && !a.Notification.Type.Over() && (!known || m.Parent != "" || m.Maintenance.Name != ""):
				t.Fatalf("%d is sent though nobody is to be told", a.ID)
			case d.Send && a.Notification.Type == alert.NotificationDown && (m.State.Verdict != VerdictDown || m.State.Incident != a.Notification.Incident):
				t.Fatalf("%d says down and it is not", a.ID)
			}
			key := fmt.Sprint(a.Notification.Monitor, a.Notification.Incident)
			if d.Send && a.Notification.Type == alert.NotificationUp {
				ended[key] = true
			}
		}
		for _, a := range alerts { // a down is not sent after its up
			if a.Notification.Type != alert.NotificationDown || !ended[fmt.Sprint(a.Notification.Monitor, a.Notification.Incident)] {
				continue
			}
			after := slices.ContainsFunc(alerts, func(b alert.Alert) bool {
				return b.ID > a.ID && b.Notification.Type == alert.NotificationUp && answers[b.ID].Send && b.Notification.Monitor == a.Notification.Monitor && b.Notification.Incident == a.Notification.Incident
			})
			if d, decided := answers[a.ID]; after && (!decided || d.Send || !d.Until.IsZero()) {
				t.Fatalf("%d says down, and its up is sent without settling it: %+v", a.ID, d)
			}
		}
	})
}

func deliveries(list []alert.Delivery) string {
	var texts []string
	for _, d := range list {
		text := fmt.Sprintf("%s by %s at %s", d.Channel, d.Rule, in(d.DueAt))
		if d.Held != "" {
			text += " (" + d.Held + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

var noon = at("12:00")
