package base

import (
	"testing"
	"time"
)

// The steps that other nodes have followed are known by their sum. A node whose time is from before a step does not undo it.
func TestUnfollowedSteps(t *testing.T) {
	wall := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	last := clockReading{seen: true, wall: wall, mono: time.Minute, total: time.Hour, times: 1}
	const passed = 2 * time.Second
	for _, c := range []struct {
		name     string
		moved    time.Duration
		followed time.Duration
		shifts   int64
		last     clockReading
		wanted   time.Duration
		ahead    bool
	}{
		{"nothing happened", 0, 0, 1, last, 0, false},
		{"a step that no node has followed", 3 * time.Hour, 0, 1, last, 3 * time.Hour, false},
		{"a step that another has followed", 3 * time.Hour, 3 * time.Hour, 2, last, 0, false},
		{"a followed step with a small difference", 3 * time.Hour, 3*time.Hour - 200*time.Millisecond, 2, last, 0, false},
		{"two steps, of which one was followed", 3 * time.Hour, time.Hour, 2, last, 2 * time.Hour, false},
		{"two steps back, of which one was followed", -3 * time.Hour, -time.Hour, 2, last, -2 * time.Hour, false},
		{"forth and back, of which one was followed", time.Hour, 3 * time.Hour, 2, last, -2 * time.Hour, false},
		{"a time from before the step", 0, 3 * time.Hour, 2, last, 0, true},
		{"a step that an older program has followed, without a sum", 3 * time.Hour, 0, 2, last, 0, false},
		{"the first look", 0, 0, 1, clockReading{}, 0, false},
	} {
		now, mono := wall.Add(passed+c.moved), last.mono+passed
		row := ClockRow{shifts: c.shifts, total: last.total + c.followed, seenAt: now.Add(-max(c.moved, 0))}
		if got := row.unfollowed(c.last, now, mono); got != c.wanted {
			t.Errorf("%s: unfollowed step: got %s, want %s", c.name, got, c.wanted)
		}
		if got := row.ahead(c.last, now, mono); got != c.ahead {
			t.Errorf("%s: ahead: got %t, want %t", c.name, got, c.ahead)
		}
	}
}

// The first look of a process compares the clock with the last written look: an earlier time means that it was set back.
func TestAStepBackBetweenTwoStarts(t *testing.T) {
	seen := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for moved, wanted := range map[time.Duration]time.Duration{
		-time.Hour: -time.Hour, -noticed: -noticed, -noticed + 1: 0, 0: 0, time.Hour: 0,
	} {
		row := ClockRow{shifts: 1, total: time.Hour, seenAt: seen}
		if got := row.unfollowed(clockReading{}, seen.Add(moved), time.Minute); got != wanted {
			t.Errorf("clock set by %s: unfollowed step: got %s, want %s", moved, got, wanted)
		}
	}
}

func TestClockSettingsAreToldFromDelays(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		by     time.Duration
		seen   time.Duration // age of the last written look
		wanted time.Duration
	}{
		{"slewing forward", 400 * time.Millisecond, time.Second, 0},
		{"slewing back", -400 * time.Millisecond, time.Second, 0},
		{"set back", -time.Hour, 0, -time.Hour},
		{"set forward", time.Hour, time.Hour + time.Second, time.Hour},
		{"set forward by little", 5 * time.Second, 6 * time.Second, 5 * time.Second},
		{"this process stood still, and another wrote looks meanwhile", time.Hour, 3 * time.Second, 0},
	} {
		if got := plausible(c.by, now, now.Add(-c.seen)); got != c.wanted {
			t.Errorf("%s: step: got %s, want %s", c.name, got, c.wanted)
		}
	}
}
