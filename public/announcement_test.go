package public_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/public"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func TestAnAnnouncementIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		a     public.Announcement
		field string // that is wrong; empty: none
	}{
		"a title alone":        {a: public.Announcement{Title: "Hello"}},
		"any script":           {a: public.Announcement{Title: "保守 שלום 🦊", Text: "<b>\n&", Level: public.Notice}},
		"no title":             {a: public.Announcement{Title: " \n", Text: "x"}, field: "title"},
		"two lines":            {a: public.Announcement{Title: "a\nb"}, field: "title"},
		"a long title":         {a: public.Announcement{Title: strings.Repeat("x", title.Max+1)}, field: "title"},
		"a text of all length": {a: public.Announcement{Title: "a", Text: strings.Repeat("ü", public.MaxAnnouncementText)}},
		"a long text":          {a: public.Announcement{Title: "a", Text: strings.Repeat("ü", public.MaxAnnouncementText+1)}, field: "text"},
		"a huge text":          {a: public.Announcement{Title: "a", Text: strings.Repeat("x", 1<<20)}, field: "text"},
		"another level":        {a: public.Announcement{Title: "a", Level: "panic"}, field: "level"},
		"ends as it begins":    {a: public.Announcement{Title: "a", From: now, Until: now}, field: "until"},
		"ends before":          {a: public.Announcement{Title: "a", From: now, Until: now.Add(-time.Second)}, field: "until"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.a.WithDefaults().Validate()
			if (err == nil) != (test.field == "") || err != nil && !strings.Contains(err.Error(), test.field) {
				t.Error(err)
			}
		})
	}
}

// An announcement is planned, then shown, then over, and never goes back.
func TestAnAnnouncementGoesForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, lasts := rapid.IntRange(-100, 100).Draw(t, "from"), rapid.IntRange(1, 200).Draw(t, "lasts")
		a := public.Announcement{Title: "a", From: now.Add(time.Duration(from) * time.Minute)}
		if rapid.Bool().Draw(t, "it ends") {
			a.Until = a.From.Add(time.Duration(lasts) * time.Minute)
		}
		if rapid.Bool().Draw(t, "it begins at once") {
			a.From = time.Time{}
		}
		order := map[public.AnnouncementState]int{public.Planned: 0, public.Shown: 1, public.Over: 2}
		first := time.Duration(rapid.IntRange(-200, 200).Draw(t, "first")) * time.Minute
		later := first + time.Duration(rapid.IntRange(0, 200).Draw(t, "later"))*time.Minute
		if before, after := a.StateAt(now.Add(first)), a.StateAt(now.Add(later)); order[after] < order[before] {
			t.Errorf("%s, then %s", before, after)
		}
		end := a.Ended(now.Add(first))
		if end.StateAt(now.Add(first)) != public.Over || end.Ended(now.Add(later)) != end {
			t.Errorf("ended: %+v", end)
		}
	})
}

func TestAnnouncementsHaveRoom(t *testing.T) {
	var all []public.Announcement
	a := public.Announcement{Title: "new", Page: "public"}.WithDefaults()
	for n := range public.MaxAnnouncements {
		if _, _, err := public.Announce(a, all, now); err != nil {
			t.Fatal(n, err)
		}
		all = append([]public.Announcement{{ID: int64(n + 1), Title: "x"}}, all...)
	}
	if _, _, err := public.Announce(a, all, now); core.CodeOf(err) != core.Conflict {
		t.Error(err)
	}
	edit := all[3]
	edit.Level = public.Warning
	if err := public.Change(edit, all, now); err != nil {
		t.Error("an edit needs no room:", err)
	}
	for range public.KeptAnnouncements + 2 {
		all = append(all, public.Announcement{ID: int64(1000 + len(all)), Title: "old", Level: public.Info, Until: now.Add(-time.Hour)})
	}
	reopened := all[len(all)-1]
	reopened.Until = time.Time{}
	if err := public.Change(reopened, all, now); core.CodeOf(err) != core.Conflict {
		t.Error("opened again without room:", err)
	}
	if _, old, err := public.Announce(a, all[1:], now); err != nil || len(old) != 2 || old[1] != reopened.ID {
		t.Error(old, err)
	}
	a.Until = now
	if _, _, err := public.Announce(a, nil, now); core.CodeOf(err) != core.Invalid {
		t.Error("over before it began:", err)
	}
}

func TestAnAnnouncementIsMadeOnce(t *testing.T) {
	a := public.Announcement{Title: "same", By: "ann", Level: public.Info}
	is := a
	is.ID, is.CreatedAt = 7, now
	for name, test := range map[string]struct {
		is   public.Announcement
		at   time.Time
		want bool
	}{
		"at once":   {is, now, true},
		"later":     {is, now.Add(time.Hour), false},
		"by others": {public.Announcement{Title: "same", By: "bob", Level: public.Info, CreatedAt: now}, now, false},
		"ended":     {is.Ended(now), now, false},
	} {
		if existing, _, err := public.Announce(a, []public.Announcement{test.is}, test.at); err != nil || (existing != nil) != test.want {
			t.Errorf("%s: %v %v", name, existing, err)
		}
	}
}
