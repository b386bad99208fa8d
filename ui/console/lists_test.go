package console_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry"
)

// What Belfry does for itself is in nobody's way.
func TestCanaryTaskIsListedWhenAskedFor(t *testing.T) {
	s := newSite(t)
	must(s.CreateTask(t.Context(), belfry.Task{Name: belfry.CanaryTask, Kind: belfry.KindFunc}))(s)
	v := s.visitor(s.admin)
	link := `href="/tasks/` + belfry.CanaryTask + `"`
	for path, listed := range map[string]bool{"/tasks": false, "/tasks?own=true": true, "/tasks?part=canary": true} {
		if _, body := v.get(path); strings.Contains(body, link) != listed {
			t.Errorf("%s lists it: %v", path, !listed)
		}
	}
	for _, path := range []string{"/tasks", "/jobs/-new", "/schedules/-new"} {
		if _, body := v.get(path); strings.Contains(body, belfry.CanaryTask) {
			t.Errorf("%s offers it", path)
		}
	}
}

func TestCancelSaysWhatHappens(t *testing.T) {
	s := filledSite(t)
	v := s.visitor(s.admin)
	for path, says := range map[string]string{"/jobs/4/cancel": "Job 4 is canceled.", "/jobs/3/cancel": "Canceling job 3: its worker stops it."} {
		if _, body := v.post(path); !strings.Contains(body, says) {
			t.Errorf("%s does not say %q", path, says)
		}
	}
}

// A form that was refused stands at an address that shows it again, and prints
// what is wrong once.
func TestRefusedJobStaysAtItsForm(t *testing.T) {
	s := filledSite(t)
	b := s.at("/jobs/-new?task=later")
	put(b, "#f-input", `{"a":`)
	s.refused(b, "main form.card button.main", 422, "is not JSON")
	var at string
	var times int
	b.Eval(`location.pathname`, &at)
	b.Eval(`document.querySelector('main').innerText.split('is not JSON').length - 1`, &times)
	if at != "/jobs/-new" || times != 1 {
		t.Errorf("at %s, said %d times", at, times)
	}
}

func TestVersionIsAcceptedFromTheList(t *testing.T) {
	s := filledSite(t)
	b := s.at("/monitors/prices/versions")
	opens(b, "accept-3")
	s.sends(b, "#accept-3 button.main", "Version 3 of prices is the baseline now.")
}

func TestTimesAreNoStopsOfTheTabKey(t *testing.T) {
	s := filledSite(t)
	b := s.at("/jobs")
	var stops int
	b.Eval(`[...document.querySelectorAll('time')].filter(e => e.tabIndex >= 0).length`, &stops)
	if stops != 0 {
		t.Errorf("%d times are", stops)
	}
}
