package belfry

import (
	"reflect"
	"testing"
	"time"
)

func TestAlertRulesAreChecked(t *testing.T) {
	good := func() AlertRule {
		return AlertRule{Name: "ops", Channels: []string{"mail", "chat"}, Tags: []string{"prod"}, Remind: span("1h"), Quiet: []string{"night"}}.WithDefaults()
	}
	refuses(t, good, func(a AlertRule) error { return a.Validate(time.Time{}) }, []refusal[AlertRule]{
		{"no name", func(a *AlertRule) { a.Name = "" }, "name", "is missing"},
		{"bad namespace", func(a *AlertRule) { a.Namespace = "*" }, "namespace", "is not a name"},
		{"long description", func(a *AlertRule) { a.Description = long }, "description", "more than 4096 bytes"},
		{"unknown type", func(a *AlertRule) { a.On = []NoticeType{"down", "broken"} }, "on[1]", "one of down, up, reminder"},
		{"type of a test", func(a *AlertRule) { a.On = []NoticeType{NoticeTest} }, "on[0]", "is not something that is told"},
		{"type twice", func(a *AlertRule) { a.On = []NoticeType{"down", "down"} }, "on[1]", "is named twice"},
		{"reminder without remind", func(a *AlertRule) { a.On, a.Remind = []NoticeType{NoticeReminder}, 0 }, "on[0]", "needs remind"},
		{"reminder with remind", func(a *AlertRule) { a.On = []NoticeType{NoticeReminder} }, "", ""},
		{"monitor", func(a *AlertRule) { a.Monitors = []string{"a", "b c"} }, "monitors[1]", "is not a name"},
		{"task of a monitor", func(a *AlertRule) { a.Tasks = []string{"monitor:a"} }, "tasks[0]", "is not a name"},
		{"schedule twice", func(a *AlertRule) { a.Schedules = []string{"a", "a"} }, "schedules[1]", "is named twice"},
		{"tag", func(a *AlertRule) { a.Tags = []string{""} }, "tags", "is not a tag"},
		{"no channel", func(a *AlertRule) { a.Channels = nil }, "channels", "at least one channel"},
		{"channel twice", func(a *AlertRule) { a.Channels = []string{"a", "a"} }, "channels[1]", "is named twice"},
		{"many channels", func(a *AlertRule) { a.Channels = manyOf(21, "a") }, "channels", "more than 20"},
		{"group", func(a *AlertRule) { a.Group = span("61m") }, "group", "is over 1h"},
		{"no group", func(a *AlertRule) { a.Group = -1 }, "", ""},
		{"remind too soon", func(a *AlertRule) { a.Remind = span("59s") }, "remind", "outside 1m to 7d"},
		{"remind negative", func(a *AlertRule) { a.Remind = -1 }, "remind", "outside 1m to 7d"},
		{"remind too often", func(a *AlertRule) { a.RemindMax = 101 }, "remind_max", "outside 1 to 100"},
		{"many calendars", func(a *AlertRule) { a.Quiet = manyOf(17, "a") }, "quiet", "more than 16"},
	})
}

func TestDefaultsOfAlertRules(t *testing.T) {
	t.Parallel()
	a := AlertRule{}.WithDefaults()
	if a.Group != span("30s") || a.RemindMax != 10 || !reflect.DeepEqual(a.On, DefaultNotices) {
		t.Errorf("%+v", a)
	}
	if twice := a.WithDefaults(); !reflect.DeepEqual(a, twice) {
		t.Errorf("\n%+v\n%+v", a, twice)
	}
	a.On[0] = NoticeSlow
	if DefaultNotices[0] != NoticeDown {
		t.Error("the defaults were changed")
	}
}

func TestStatusPagesAreChecked(t *testing.T) {
	good := func() StatusPage {
		return StatusPage{Name: "public", Sections: []StatusSection{{Title: "Web", Monitors: []string{"site"}}, {Tags: []string{"api"}}}}.WithDefaults()
	}
	refuses(t, good, func(s StatusPage) error { return s.Validate(time.Time{}) }, []refusal[StatusPage]{
		{"no sections", func(s *StatusPage) { s.Sections = nil }, "", ""},
		{"name", func(s *StatusPage) { s.Name = "a/b" }, "name", "is not a name"},
		{"title of two lines", func(s *StatusPage) { s.Title = "a\nb" }, "title", "is not one line"},
		{"long title", func(s *StatusPage) { s.Title = long }, "title", "at most 200 bytes"},
		{"many sections", func(s *StatusPage) { s.Sections = make([]StatusSection, 51) }, "sections", "more than 50"},
		{"empty section", func(s *StatusPage) { s.Sections[1].Tags = nil }, "sections[1].monitors", "is empty"},
		{"title of a section", func(s *StatusPage) { s.Sections[0].Title = "\x00" }, "sections[0].title", "is not one line"},
		{"monitor", func(s *StatusPage) { s.Sections[0].Monitors = []string{""} }, "sections[0].monitors[0]", "is missing"},
		{"monitor twice", func(s *StatusPage) { s.Sections[0].Monitors = []string{"a", "a"} }, "sections[0].monitors[1]", "is named twice"},
	})
	if good().Title != "public" {
		t.Error("the title is not the name")
	}
}
