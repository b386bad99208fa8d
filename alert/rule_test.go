package alert

import (
	"reflect"
	"testing"
	"time"
)

func TestAlertRulesAreChecked(t *testing.T) {
	good := func() Rule {
		return Rule{Name: "ops", Channels: []string{"mail", "chat"}, Tags: []string{"prod"}, Remind: span("1h"), Quiet: []string{"night"}}.WithDefaults()
	}
	refuses(t, good, func(a Rule) error { return a.Validate(time.Time{}) }, []refusal[Rule]{
		{"no name", func(a *Rule) { a.Name = "" }, "name", "is missing"},
		{"bad namespace", func(a *Rule) { a.Namespace = "*" }, "namespace", "is not a name"},
		{"long description", func(a *Rule) { a.Description = long }, "description", "more than 4096 bytes"},
		{"title that turns the text", func(a *Rule) { a.Title = "a\u202eb" }, "title", "changes the direction"},
		{"title", func(a *Rule) { a.Title = "夜間の当番" }, "", ""},
		{"unknown type", func(a *Rule) { a.On = []NotificationType{"down", "broken"} }, "on[1]", "one of down, up, reminder"},
		{"type of a test", func(a *Rule) { a.On = []NotificationType{NotificationTest} }, "on[0]", "is not something that is notified"},
		{"no types", func(a *Rule) { a.On = []NotificationType{} }, "on", "must name a type of notification"},
		{"type twice", func(a *Rule) { a.On = []NotificationType{"down", "down"} }, "on[1]", "is named twice"},
		{"reminder without remind", func(a *Rule) { a.On, a.Remind = []NotificationType{NotificationReminder}, 0 }, "on[0]", "needs remind"},
		{"reminder with remind", func(a *Rule) { a.On = []NotificationType{NotificationReminder} }, "", ""},
		{"monitor", func(a *Rule) { a.Monitors = []string{"a", "b c"} }, "monitors[1]", "is not a name"},
		{"task of a monitor", func(a *Rule) { a.Tasks = []string{"monitor:a"} }, "tasks[0]", "is not a name"},
		{"schedule twice", func(a *Rule) { a.Schedules = []string{"a", "a"} }, "schedules[1]", "is named twice"},
		{"tag", func(a *Rule) { a.Tags = []string{""} }, "tags", "is not a tag"},
		{"no channel", func(a *Rule) { a.Channels = nil }, "channels", "at least one channel"},
		{"channel twice", func(a *Rule) { a.Channels = []string{"a", "a"} }, "channels[1]", "is named twice"},
		{"many channels", func(a *Rule) { a.Channels = manyOf(21, "a") }, "channels", "more than 20"},
		{"group", func(a *Rule) { a.Group = span("61m") }, "group", "is over 1h"},
		{"no group", func(a *Rule) { a.Group = -1 }, "", ""},
		{"remind too soon", func(a *Rule) { a.Remind = span("59s") }, "remind", "outside 1m to 7d"},
		{"remind negative", func(a *Rule) { a.Remind = -1 }, "remind", "outside 1m to 7d"},
		{"remind too often", func(a *Rule) { a.RemindMax = 101 }, "remind_max", "outside 1 to 100"},
		{"many calendars", func(a *Rule) { a.Quiet = manyOf(17, "a") }, "quiet", "more than 16"},
	})
}

func TestDefaultsOfAlertRules(t *testing.T) {
	t.Parallel()
	a := Rule{}.WithDefaults()
	if a.Group != span("30s") || a.RemindMax != 10 || !reflect.DeepEqual(a.On, DefaultNotifications) {
		t.Errorf("%+v", a)
	}
	if twice := a.WithDefaults(); !reflect.DeepEqual(a, twice) {
		t.Errorf("\n%+v\n%+v", a, twice)
	}
	a.On[0] = NotificationSlow
	if DefaultNotifications[0] != NotificationDown {
		t.Error("the defaults were changed")
	}
}
