package alert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

func deliveries(list []Delivery) string {
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

func TestRoute(t *testing.T) {
	t.Parallel()
	down := Notification{Type: NotificationDown, Namespace: "default", Monitor: "site", Tags: []string{"web", "prod"}}
	up, job, missed := down, Notification{Type: NotificationJobFailed, Namespace: "default", Task: "report", Schedule: "nightly", JobID: 7}, Notification{Type: NotificationScheduleMissed, Namespace: "default", Task: "report", Schedule: "nightly"}
	up.Type = NotificationUp
	of := func(n Notification, kind NotificationType) Notification {
		n.Type = kind
		return n
	}
	all := Rule{Name: "all", Channels: []string{"mail"}}
	with := func(change func(*Rule)) []Rule {
		rule := all
		change(&rule)
		return []Rule{rule}
	}
	night := func(rule Rule, at time.Time) time.Time {
		if slices.Contains(rule.Quiet, "night") && at.Before(noon) {
			return noon
		}
		return time.Time{}
	}
	for _, row := range []struct {
		name  string
		n     Notification
		rules []Rule
		want  string
	}{
		{"no rule", down, nil, ""},
		{"one rule", down, []Rule{all}, "mail by all at 10:00:30"},
		{"what is over goes at once", up, []Rule{all}, "mail by all at 10:00"},
		{"a rule that is off", down, with(func(a *Rule) { a.Off = true }), ""},
		{"another namespace", down, with(func(a *Rule) { a.Namespace = "other" }), ""},
		{"a type that is not meant by default", of(down, NotificationSlow), []Rule{all}, ""},
		{"a type that is named", of(down, NotificationSlow), with(func(a *Rule) { a.On = []NotificationType{NotificationSlow} }), "mail by all at 10:00:30"},
		{"a type that is not named", down, with(func(a *Rule) { a.On = []NotificationType{NotificationSlow} }), ""},
		{"no group", down, with(func(a *Rule) { a.Group = -1 }), "mail by all at 10:00"},
		{"its own group", down, with(func(a *Rule) { a.Group = span("5m") }), "mail by all at 10:05"},
		{"monitor", down, with(func(a *Rule) { a.Monitors = []string{"db", "site"} }), "mail by all at 10:00:30"},
		{"another monitor", down, with(func(a *Rule) { a.Monitors = []string{"db"} }), ""},
		{"tag", down, with(func(a *Rule) { a.Tags = []string{"test", "prod"} }), "mail by all at 10:00:30"},
		{"another tag", down, with(func(a *Rule) { a.Tags = []string{"test"} }), ""},
		{"monitor and another tag", down, with(func(a *Rule) { a.Monitors, a.Tags = []string{"site"}, []string{"test"} }), ""},
		{"job", job, []Rule{all}, "mail by all at 10:00:30"},
		{"job of a task", job, with(func(a *Rule) { a.Tasks = []string{"report"} }), "mail by all at 10:00:30"},
		{"job of a schedule", job, with(func(a *Rule) { a.Schedules = []string{"nightly"} }), "mail by all at 10:00:30"},
		{"job of another task", job, with(func(a *Rule) { a.Tasks = []string{"other"} }), ""},
		{"a rule for a monitor says nothing of jobs", job, with(func(a *Rule) { a.Monitors = []string{"site"} }), ""},
		{"a rule for a task says nothing of monitors", down, with(func(a *Rule) { a.Tasks = []string{"report"} }), ""},
		{"schedule", missed, with(func(a *Rule) { a.Schedules = []string{"nightly"} }), "mail by all at 10:00:30"},
		{"schedule of a task", missed, with(func(a *Rule) { a.Tasks = []string{"report"} }), "mail by all at 10:00:30"},
		{"reminder", of(down, NotificationReminder), with(func(a *Rule) { a.Remind = span("1h") }), "mail by all at 10:00:30"},
		{"reminder of a rule that does not remind", of(down, NotificationReminder), []Rule{all}, ""},
		{"quiet", down, with(func(a *Rule) { a.Quiet = []string{"night"} }), "mail by all at 12:00 (quiet hours until 2026-03-02 12:00:00 UTC)"},
		{"quiet when it is over", up, with(func(a *Rule) { a.Quiet = []string{"night"} }), "mail by all at 12:00 (quiet hours until 2026-03-02 12:00:00 UTC)"},
		{"a test is not quiet", Notification{Type: NotificationTest, Namespace: "default"}, with(func(a *Rule) { a.Quiet, a.On = []string{"night"}, []NotificationType{NotificationUp} }), "mail by all at 10:00"},
		{"each channel once, by the first rule", down, []Rule{{Name: "b", Channels: []string{"mail", "chat"}}, {Name: "a", Channels: []string{"mail"}}}, "mail by a at 10:00:30; chat by b at 10:00:30"},
		{"or the earliest", down, []Rule{{Name: "b", Channels: []string{"mail", "chat"}, Group: span("10s")}, {Name: "a", Channels: []string{"mail"}}}, "mail by b at 10:00:10; chat by b at 10:00:10"},
		{"or the one that is not quiet", down, []Rule{{Name: "a", Channels: []string{"mail"}, Quiet: []string{"night"}}, {Name: "b", Channels: []string{"mail"}}}, "mail by b at 10:00:30"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for i := range row.rules {
				row.rules[i] = row.rules[i].WithDefaults()
			}
			if got := deliveries(Route(row.n, row.rules, night, at("10:00"))); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

var noon = at("12:00")

func TestRouteTellsEachChannelOnceAndAsSoonAsAnyRule(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d"}
	pick := func(t *rapid.T, label string, from []string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 3, rapid.ID[string]).Draw(t, label)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := Notification{Namespace: "default", Type: rapid.SampledFrom(append(slices.Clone(NotificationTypes), NotificationTest)).Draw(t, "type"), Tags: pick(t, "tags", names)}
		if rapid.Bool().Draw(t, "of a monitor") {
			n.Monitor = rapid.SampledFrom(names).Draw(t, "monitor")
		} else {
			n.Task, n.Schedule = rapid.SampledFrom(names).Draw(t, "task"), rapid.SampledFrom(names).Draw(t, "schedule")
		}
		var rules []Rule
		for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
			rules = append(rules, Rule{
				Name: fmt.Sprint("r", i), Channels: append(pick(t, "channels", names), "e"), Tags: pick(t, "rule's tags", names),
				Monitors: pick(t, "monitors", names), Tasks: pick(t, "tasks", names), Off: rapid.Bool().Draw(t, "off"), Quiet: pick(t, "quiet", names[:2]),
				Group:  rapid.SampledFrom([]core.Duration{-1, 0, span("10s"), span("5m")}).Draw(t, "group"),
				Remind: rapid.SampledFrom([]core.Duration{0, span("1h")}).Draw(t, "remind"),
			}.WithDefaults())
		}
		quiet := func(rule Rule, at time.Time) time.Time {
			if len(rule.Quiet) == 0 {
				return time.Time{}
			}
			return at.Add(time.Duration(len(rule.Quiet)) * time.Minute)
		}
		now := at("10:00")
		got := Route(n, rules, quiet, now)

		shuffled := rapid.Permutation(rules).Draw(t, "other order")
		byChannel := func(a, b Delivery) int { return cmp.Compare(a.Channel, b.Channel) }
		if again := Route(n, shuffled, quiet, now); !slices.Equal(slices.SortedFunc(slices.Values(got), byChannel), slices.SortedFunc(slices.Values(again), byChannel)) {
			t.Fatalf("the order of the rules matters:\n%s\n%s", deliveries(got), deliveries(again))
		}
		told := map[string]time.Time{}
		for _, d := range got {
			if _, twice := told[d.Channel]; twice {
				t.Fatalf("%s is told twice", d.Channel)
			}
			told[d.Channel] = d.DueAt
			if d.DueAt.Before(now) {
				t.Fatalf("%s is told at %s", d.Channel, d.DueAt)
			}
		}
		for _, rule := range rules { // each rule alone
			for _, d := range Route(n, []Rule{rule}, quiet, now) {
				if at, is := told[d.Channel]; !is || at.After(d.DueAt) {
					t.Fatalf("rule %s alone tells %s at %s, and with the others it is %s", rule.Name, d.Channel, d.DueAt, at)
				}
			}
		}
	})
}

func TestReminders(t *testing.T) {
	t.Parallel()
	rule := Rule{Remind: span("1h"), RemindMax: 4}.WithDefaults()
	for told, want := range []string{"11:00", "13:00", "17:00", "03T01:00", "never"} {
		if got := in(NextReminder(rule, at("10:00"), told)); got != want {
			t.Errorf("after %d reminders: %s, want %s", told, got, want)
		}
	}
	for now, want := range map[string]int{"11:00": 1, "12:59": 1, "13:00": 2, "17:00": 3, "23:59": 3} {
		if got := PassedReminders(rule, at("10:00"), 1, at(now)); got != want {
			t.Errorf("%d reminders count as sent at %s, want %d", got, now, want)
		}
	}
	if got := PassedReminders(rule, at("10:00"), 1, at("10:00").AddDate(1, 0, 0)); got != 4 {
		t.Errorf("%d reminders count as sent after a year, want all 4", got)
	}
	off, never := rule, rule
	off.Off, never.Remind = true, 0
	for _, rule := range []Rule{off, never} {
		if got := NextReminder(rule, at("10:00"), 0); !got.IsZero() {
			t.Errorf("%+v reminds at %s", rule, got)
		}
	}
	long := Rule{Remind: MaxRemind, RemindMax: MaxRemindMax}.WithDefaults()
	last := at("10:00")
	for told := range MaxRemindMax {
		next := NextReminder(long, at("10:00"), told)
		if next.IsZero() {
			break
		}
		if !next.After(last) || next.After(last.AddDate(11, 0, 0)) {
			t.Fatalf("reminder %d is at %s, the one before was at %s", told, next, last)
		}
		last = next
	}
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	of := func(name, weekly string) schedule.Calendar {
		return schedule.Calendar{Name: name, CalendarSpec: cron.CalendarSpec{Closings: []cron.Closing{{Weekly: weekly}}}}.WithDefaults()
	}
	elsewhere := of("noon", "*")
	elsewhere.Namespace = "other"
	quiet, err := QuietHours([]schedule.Calendar{of("night", "* 22:00-07:00"), of("morning", "* 07:00-09:00"), of("noon", "* 12:00-13:00"), of("always", "*"), elsewhere})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ calendars, at, want string }{
		{"", "10:00", "never"},
		{"night", "21:59:59", "never"},
		{"night", "22:00", "03T07:00"},
		{"night", "07:00", "never"},
		{"night morning", "22:00", "03T09:00"},
		{"morning night noon", "06:00", "09:00"},
		{"noon", "12:30", "13:00"},
		{"gone", "12:30", "never"},
		{"gone noon", "12:30", "13:00"},
		{"always", "10:00", "2026-04-01T10:00"},
	} {
		rule := Rule{Quiet: strings.Fields(row.calendars)}.WithDefaults()
		if got := in(quiet(rule, at(row.at))); got != row.want {
			t.Errorf("%s at %s: until %s, want %s", row.calendars, row.at, got, row.want)
		}
	}
	if _, err := QuietHours([]schedule.Calendar{of("bad", "X")}); err == nil {
		t.Error("a bad calendar passed")
	}
}
