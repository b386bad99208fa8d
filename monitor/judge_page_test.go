package monitor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// pageStory plays checks of a page, one per minute: a digest, optionally with a hash
// of settings after a slash. "-" is a failed check, none a missing selector, empty a
// page without text, error a check that was not made, accept:X an acceptance by a
// person. It returns the versions with their kinds, and the notifications.
func pageStory(t *testing.T, m Monitor, script string) (versions, notified string, w *watch) {
	t.Helper()
	m.Check.Page.URL = "https://example.com"
	w = newWatch(t, m, at("10:00"))
	w.take(Enroll(w.m, w.env(), w.now))
	for i, look := range strings.Fields(script) {
		w.now = at("10:01").Add(time.Duration(i) * time.Minute)
		if digest, ok := strings.CutPrefix(look, "accept:"); ok {
			w.take(AcceptPage(w.m, w.s, digest, "c", w.now))
			continue
		}
		o := Observation{At: w.now, CheckResult: task.CheckResult{Outcome: task.CheckOK}}
		switch look {
		case "-":
			o.Outcome, o.Code = task.CheckFail, task.CodeStatus
		case "error":
			o.Outcome = task.CheckError
		case "none":
			o.Page = &task.PageSeen{Outcome: task.PageSelectorMissing, ConfigHash: "c"}
		case "empty":
			o.Page = &task.PageSeen{Outcome: task.PageEmpty, ConfigHash: "c"}
		default:
			digest, config, _ := strings.Cut(look, "/")
			o.Page = &task.PageSeen{Outcome: task.PageText, Digest: digest, ConfigHash: core.Or(config, "c"), Text: strings.ToUpper(digest)}
		}
		w.check(o)
	}
	var list []string
	for _, v := range w.versions {
		text := v.Digest + " " + string(v.Change)
		if v.Before != "" {
			text += " from " + v.Before
		}
		if v.Baseline {
			text += "!"
		}
		if v.Text != strings.ToUpper(v.Digest) || v.Size != len(v.Text) {
			t.Errorf("version %s has text %q of %d", v.Digest, v.Text, v.Size)
		}
		list = append(list, text)
	}
	for i, n := range w.told {
		notified += " " + string(n.Type) + " " + in(w.toldAt[i])
	}
	return strings.Join(list, ", "), strings.TrimSpace(notified), w
}

func TestPages(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name           string
		page           task.PageCheck
		script         string
		versions, told string
	}{
		{"first", task.PageCheck{}, "a", "a first!", ""},
		{"the same", task.PageCheck{}, "a a a", "a first!", ""},
		{"another, seen once", task.PageCheck{}, "a b", "a first!", ""},
		{"another, seen twice", task.PageCheck{}, "a b b", "a first!, b changed from a!", "changed 10:03"},
		{"seen for longer: told once", task.PageCheck{}, "a b b b b", "a first!, b changed from a!", "changed 10:03"},
		{"there for a moment", task.PageCheck{}, "a b a a b a", "a first!", ""},
		{"never twice the same", task.PageCheck{}, "a b c d e", "a first!", ""},
		{"at once", task.PageCheck{Confirm: -1}, "a b", "a first!, b changed from a!", "changed 10:02"},
		{"not yet for so long", task.PageCheck{Confirm: core.Duration(2 * time.Minute)}, "a b b", "a first!", ""},
		{"for so long", task.PageCheck{Confirm: core.Duration(2 * time.Minute)}, "a b b b", "a first!, b changed from a!", "changed 10:04"},
		{"there and back", task.PageCheck{Confirm: -1}, "a b a b", "a first!, b changed from a!, a changed from b!, b changed from a!", "changed 10:02 changed 10:03 changed 10:04"},
		{"pinned: told once", task.PageCheck{Confirm: -1, Baseline: task.BaselinePinned}, "a b b b", "a first!, b changed from a", "changed 10:02"},
		{"pinned: another change", task.PageCheck{Confirm: -1, Baseline: task.BaselinePinned}, "a b c", "a first!, b changed from a, c changed from a", "changed 10:02 changed 10:03"},
		{"pinned: back, and changed again", task.PageCheck{Confirm: -1, Baseline: task.BaselinePinned}, "a b a b", "a first!, b changed from a, b changed from a", "changed 10:02 changed 10:04"},
		{"pinned: accepted", task.PageCheck{Confirm: -1, Baseline: task.BaselinePinned}, "a b accept:b b b", "a first!, b changed from a", "changed 10:02"},
		{"pinned: accepted, and back", task.PageCheck{Confirm: -1, Baseline: task.BaselinePinned}, "a b accept:b a", "a first!, b changed from a, a changed from b", "changed 10:02 changed 10:04"},
		{"other settings", task.PageCheck{}, "a b/d b/d", "a first!, b reset!", ""},
		{"other settings, pinned", task.PageCheck{Baseline: task.BaselinePinned}, "a b/d", "a first!, b reset!", ""},
		{"a failed check says nothing of the page", task.PageCheck{}, "a b - b", "a first!, b changed from a!", "changed 10:04"},
		{"nor does one that was not made", task.PageCheck{}, "a b error b", "a first!, b changed from a!", "changed 10:04"},
		{"a missing selector is a failure and no change", task.PageCheck{}, "a none none a", "a first!", "down 10:03"},
		{"an empty page is a failure and no change", task.PageCheck{}, "a empty empty a a", "a first!", "down 10:03 up 10:05"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			versions, notified, _ := pageStory(t, Monitor{Check: task.Task{Page: &row.page}}, row.script)
			if versions != row.versions || notified != row.told {
				t.Errorf("%s\ngot   %s | %s\nwant  %s | %s", row.script, versions, notified, row.versions, row.told)
			}
		})
	}
}

func TestAPageThatIsNeverTwiceTheSameIsUnstable(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, script string
		page         task.PageCheck
		unstable     bool
		run          int
		again        string
	}{
		{"not yet", "a b c d e", task.PageCheck{}, false, 4, "10:05:10"},
		{"at the fifth, and looked at in its turn alone", "a b c d e f", task.PageCheck{}, true, 5, ""},
		{"from then on", "a b c d e f g", task.PageCheck{}, true, 6, ""},
		{"two that take turns", "a b c b c b", task.PageCheck{}, true, 5, ""},
		{"pinned, beside a version that was alerted", "a b b c d e f g", task.PageCheck{Baseline: task.BaselinePinned}, true, 5, ""},
		{"pinned, and back to what was told", "a b b c d e f g b", task.PageCheck{Baseline: task.BaselinePinned}, false, 0, ""},
		{"a failure and a check that was not made say nothing", "a b c - d error e f", task.PageCheck{}, true, 5, ""},
		{"until two agree", "a b c d e f g g", task.PageCheck{}, false, 0, ""},
		{"until two agree, before they count", "a b c d e f g g", task.PageCheck{Confirm: core.Duration(90 * time.Second)}, false, 0, ""},
		{"until the baseline is back", "a b c d e f g a", task.PageCheck{}, false, 0, ""},
		{"until it is accepted", "a b c d e f accept:f", task.PageCheck{}, false, 0, ""},
		{"until it has other settings", "a b c d e f g/d", task.PageCheck{}, false, 0, ""},
		{"the baseline between", "a b c d e a f", task.PageCheck{}, false, 1, "10:07:10"},
		{"each is told at once", "a b c d e f g", task.PageCheck{Confirm: -1}, false, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, _, w := pageStory(t, Monitor{Check: task.Task{Page: &row.page}}, row.script)
			again := ""
			if !w.again.IsZero() {
				again = in(w.again)
			}
			if w.s.Unstable != row.unstable || w.s.UnstableRun != row.run || again != row.again {
				t.Errorf("%s: unstable %t after %d, again at %s", row.script, w.s.Unstable, w.s.UnstableRun, again)
			}
		})
	}
	_, _, w := pageStory(t, Monitor{Check: task.Task{Page: &task.PageCheck{}}}, "a b c d e f")
	w.now = w.now.Add(time.Second)
	m := w.m
	page := *m.Check.Page
	page.URL = "https://example.com/other"
	m.Check.Page = &page
	w.take(EditMonitor(m, w.m, w.s, w.env(), w.now))
	if w.s.Unstable || w.s.UnstableRun != 0 {
		t.Error("another page is unstable from the start")
	}
}

func TestPagesAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	_, _, w := pageStory(t, Monitor{Check: task.Task{Page: &task.PageCheck{}}}, "a b")
	if in(w.again) != "10:02:10" {
		t.Errorf("a change is confirmed at %s", in(w.again))
	}
	_, _, w = pageStory(t, Monitor{Check: task.Task{Page: &task.PageCheck{}}}, "a b b")
	if !w.again.IsZero() || in(w.versions[1].At) != "10:02" {
		t.Errorf("confirmed: again at %s, first seen %s", in(w.again), in(w.versions[1].At))
	}
	_, _, w = pageStory(t, Monitor{Check: task.Task{Page: &task.PageCheck{}}}, "a none none")
	if w.s.LastCode != task.CodeSelectorMissing || w.incidents[0].Code != task.CodeSelectorMissing {
		t.Errorf("code %s", w.s.LastCode)
	}
}

func TestAPageThatChangesInMaintenanceIsNotTold(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Monitor{Check: task.Task{Page: &task.PageCheck{URL: "https://example.com", Confirm: -1}}}, at("10:00"))
	w.windows = []ActiveWindow{{Name: "deploy", From: at("10:02"), To: at("10:04")}}
	w.take(Enroll(w.m, w.env(), w.now))
	for i, digest := range []string{"a", "b", "b", "b", "c"} {
		w.now = at("10:01").Add(time.Duration(i) * time.Minute)
		w.check(Observation{At: w.now, CheckResult: task.CheckResult{Outcome: task.CheckOK, Page: &task.PageSeen{Outcome: task.PageText, Digest: digest, ConfigHash: "c"}}})
	}
	if len(w.told) != 1 || w.told[0].Type != alert.NotificationChanged || in(w.toldAt[0]) != "10:05" || len(w.versions) != 3 {
		t.Errorf("%s, %d versions", w.story(), len(w.versions))
	}
	if kinds := []task.PageChange{w.versions[0].Change, w.versions[1].Change, w.versions[2].Change}; !slices.Equal(kinds, []task.PageChange{task.PageFirst, task.PageChanged, task.PageChanged}) {
		t.Error(kinds)
	}
}
