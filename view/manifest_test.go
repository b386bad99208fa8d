package view

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func TestManifestsHoldAllMonitoringDefinitions(t *testing.T) {
	t.Parallel()
	m := Manifest{
		Channels:    []alert.Channel{{Name: "chat", Slack: &alert.SlackChannel{URL: core.Redacted}}, {Name: "chat", Namespace: "other"}, {Name: "chat", Slack: &alert.SlackChannel{URL: "https://a"}}},
		AlertRules:  []alert.Rule{{Name: "ops", Channels: []string{"chat"}}, {Name: "ops", Channels: []string{"chat"}}, {Name: "none"}},
		Monitors:    []monitor.Monitor{{Name: "site", Check: task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}}, {Name: "site", Heartbeat: &monitor.Heartbeat{}}, {Name: "bad", Check: task.Task{HTTP: &task.HTTP{URL: "x"}}}},
		Windows:     []monitor.Window{{Name: "old", From: at("2020-01-01T00:00"), To: at("2020-01-01T01:00")}, {Name: "patch", Rules: []schedule.Rule{{Cron: "0 2 * * *"}}}, {Name: "old", From: at("10:00"), To: at("11:00")}},
		StatusPages: []public.StatusPage{{Name: "public"}, {Name: "public"}, {Name: "site", Sections: []public.StatusSection{{Title: "empty"}}}},
	}.WithDefaults("team")
	if m.Count() != 15 {
		t.Errorf("it has %d definitions", m.Count())
	}
	var e *core.Error
	if !errors.As(m.Validate(), &e) {
		t.Fatal("a bad manifest passed")
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, strings.TrimSpace(f.Field+" "+f.Value))
	}
	want := []string{
		"channels[1].channel", "channels[2] channel team/chat", "alert_rules[1] alert rule team/ops", "alert_rules[2].channels",
		"monitors[1] monitor team/site", "monitors[2].check.http.url x", "windows[1].lasts", "windows[2] window team/old",
		"status_pages[1] status page team/public", "status_pages[2].sections[0].monitors",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if twice := m.WithDefaults("other"); !reflect.DeepEqual(m, twice) {
		t.Errorf("\n%+v\n%+v", m, twice)
	}
}

// TestManifestsLeaveNoListOut puts one invalid definition into every list of a
// manifest.
func TestManifestsLeaveNoListOut(t *testing.T) {
	t.Parallel()
	kind := reflect.TypeFor[Manifest]()
	for i := range kind.NumField() {
		var m Manifest
		list := reflect.ValueOf(&m).Elem().Field(i)
		list.Set(reflect.MakeSlice(list.Type(), 1, 1))
		name := strings.Split(kind.Field(i).Tag.Get("json"), ",")[0]
		full := m.WithDefaults("team")
		if err := full.Validate(); err == nil || !strings.Contains(err.Error(), name+"[0].name: is missing") {
			t.Errorf("%s: %v", name, err)
		}
		if m.Count() != 1 {
			t.Errorf("%s does not count", name)
		}
		if namespace := reflect.ValueOf(full).Field(i).Index(0).FieldByName("Namespace"); namespace.IsValid() && namespace.String() != "team" {
			t.Errorf("%s is in namespace %q", name, namespace)
		}
	}
}

func TestPruneIsRefusedThatWouldDeleteAll(t *testing.T) {
	t.Parallel()
	queues := Manifest{Queues: []job.Queue{{Name: "q"}}}
	here, elsewhere := queues, queues
	here.Tasks, elsewhere.StatusPages = []task.Task{{Name: "t"}}, []public.StatusPage{{Name: "p", Namespace: "other"}}
	for _, row := range []struct {
		m       Manifest
		o       ApplyOptions
		refused string
	}{
		{Manifest{}, ApplyOptions{}, ""},
		{Manifest{}, ApplyOptions{Prune: true}, "in namespace default"},
		{queues, ApplyOptions{Prune: true, DryRun: true}, "in namespace default"},
		{here, ApplyOptions{Prune: true}, ""},
		{here, ApplyOptions{Prune: true, Namespace: "team"}, ""},
		{elsewhere, ApplyOptions{Prune: true, Namespace: "team"}, "in namespace team"},
		{elsewhere, ApplyOptions{Prune: true, Namespace: "other"}, ""},
	} {
		switch err := row.m.CheckPrune(row.o); {
		case row.refused == "" && err != nil:
			t.Errorf("%+v: %v", row.o, err)
		case row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)):
			t.Errorf("%+v: %v, want %q", row.o, err, row.refused)
		}
	}
}
