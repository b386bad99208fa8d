package base

import (
	"testing"
	"time"
)

// What other nodes have made up for is known by its sum, and a node whose time
// is from before a step undoes nothing.
func TestWhatNobodyHasMadeUpFor(t *testing.T) {
	wall := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	last := look{seen: true, wall: wall, mono: time.Minute, total: time.Hour, times: 1}
	const passed = 2 * time.Second
	for _, c := range []struct {
		name     string
		moved    time.Duration
		followed time.Duration
		shifts   int64
		last     look
		wanted   time.Duration
		ahead    bool
	}{
		{"nothing happened", 0, 0, 1, last, 0, false},
		{"a step that nobody has seen", 3 * time.Hour, 0, 1, last, 3 * time.Hour, false},
		{"a step that another has followed", 3 * time.Hour, 3 * time.Hour, 2, last, 0, false},
		{"and measured a little otherwise", 3 * time.Hour, 3*time.Hour - 200*time.Millisecond, 2, last, 0, false},
		{"two steps, of which one was followed", 3 * time.Hour, time.Hour, 2, last, 2 * time.Hour, false},
		{"two back", -3 * time.Hour, -time.Hour, 2, last, -2 * time.Hour, false},
		{"forth and back, of which one was followed", time.Hour, 3 * time.Hour, 2, last, -2 * time.Hour, false},
		{"this time is from before the step", 0, 3 * time.Hour, 2, last, 0, true},
		{"an older program has followed it, and adds nothing up", 3 * time.Hour, 0, 2, last, 0, false},
		{"the first look", 0, 0, 1, look{}, 0, false},
	} {
		now, mono := wall.Add(passed+c.moved), last.mono+passed
		row := ClockRow{shifts: c.shifts, total: last.total + c.followed, seenAt: now.Add(-max(c.moved, 0))}
		if got := row.unfollowed(c.last, now, mono); got != c.wanted {
			t.Errorf("%s: %s, want %s", c.name, got, c.wanted)
		}
		if got := row.ahead(c.last, now, mono); got != c.ahead {
			t.Errorf("%s: ahead is %t", c.name, got)
		}
	}
}

// The first look of a process has the time that was written down, which a clock that goes on never shows again.
func TestAStepBackBetweenTwoStarts(t *testing.T) {
	seen := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for moved, wanted := range map[time.Duration]time.Duration{
		-time.Hour: -time.Hour, -noticed: -noticed, -noticed + 1: 0, 0: 0, time.Hour: 0,
	} {
		row := ClockRow{shifts: 1, total: time.Hour, seenAt: seen}
		if got := row.unfollowed(look{}, seen.Add(moved), time.Minute); got != wanted {
			t.Errorf("moved by %s: %s, want %s", moved, got, wanted)
		}
	}
}

func TestWhatIsTakenForASettingOfTheClock(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		by     time.Duration
		seen   time.Duration // how long ago anybody looked
		wanted time.Duration
	}{
		{"slewing forward", 400 * time.Millisecond, time.Second, 0},
		{"slewing back", -400 * time.Millisecond, time.Second, 0},
		{"set back", -time.Hour, 0, -time.Hour},
		{"set forward", time.Hour, time.Hour + time.Second, time.Hour},
		{"set forward by little", 5 * time.Second, 6 * time.Second, 5 * time.Second},
		{"this process stood still, and another saw the time pass", time.Hour, 3 * time.Second, 0},
	} {
		if got := plausible(c.by, now, now.Add(-c.seen)); got != c.wanted {
			t.Errorf("%s: %s, want %s", c.name, got, c.wanted)
		}
	}
}
