package definitions

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// TestPartsOfAManifestAreOneText compares the text of parts with that of the whole manifest.
func TestPartsOfAManifestAreOneText(t *testing.T) {
	t.Parallel()
	all := apitest.Filled[view.Manifest]()
	for name, parts := range map[string][]view.Manifest{
		"none":             {{}},
		"a list":           {{Tasks: []task.Task{{Name: "a<b"}, {Name: "c"}}}},
		"nothing between":  {{Queues: []job.Queue{{Name: "q"}}}, {}, {Tasks: []task.Task{{Name: "a"}}}},
		"a list in two":    {{Queues: []job.Queue{{Name: "q"}}, Tasks: []task.Task{{Name: "a"}}}, {Tasks: []task.Task{{Name: "b"}}}},
		"each list":        {all},
		"a list after all": {{Queues: all.Queues, Tasks: all.Tasks}, {Tasks: all.Tasks, StatusPages: all.StatusPages}, {StatusPages: all.StatusPages}},
	} {
		var text manifestText
		var whole view.Manifest
		for _, part := range parts {
			if err := text.add(part); err != nil {
				t.Fatal(err)
			}
			whole.Queues, whole.Calendars = append(whole.Queues, part.Queues...), append(whole.Calendars, part.Calendars...)
			whole.Tasks, whole.Schedules = append(whole.Tasks, part.Tasks...), append(whole.Schedules, part.Schedules...)
			whole.Channels, whole.AlertRules = append(whole.Channels, part.Channels...), append(whole.AlertRules, part.AlertRules...)
			whole.Hooks, whole.Monitors = append(whole.Hooks, part.Hooks...), append(whole.Monitors, part.Monitors...)
			whole.Windows, whole.StatusPages = append(whole.Windows, part.Windows...), append(whole.StatusPages, part.StatusPages...)
		}
		text.end()
		full, err := body.FullArrays(nil, "", whole)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(full); err != nil {
			t.Fatal(err)
		}
		if text.String() != want.String() {
			t.Errorf("%s: %s\nwant %s", name, text.String(), want.String())
		}
	}
}
