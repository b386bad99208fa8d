package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

// backfillOf parses a running backfill:
//
//	from 09:00; to 10:00; overlap allow; missing; limit 5; done 09:10; made 2; left 1
func backfillOf(t testing.TB, text string) Backfill {
	t.Helper()
	b := Backfill{Schedule: "s", State: BackfillActive}
	for _, w := range words(text) {
		switch key, rest := w[0], w[1]; key {
		case "from":
			b.From = at(rest)
		case "to":
			b.To = at(rest)
		case "overlap":
			b.Overlap = Overlap(rest)
		case "missing":
			b.OnlyMissing = true
		case "limit":
			b.Limit = int(number(rest))
		case "done":
			b.Done = at(rest)
		case "made":
			b.Made = int(number(rest))
		case "left":
			b.LeftOut = int(number(rest))
		default:
			t.Fatalf("what is %q in a backfill?", key)
		}
	}
	return b.WithDefaults()
}

func refillText(r Refill) string {
	var parts []string
	for _, t := range r.Run {
		parts = append(parts, in(t))
	}
	parts = append(parts, fmt.Sprintf("done %s, made %d, left out %d", in(r.Done), r.Made, r.LeftOut))
	if r.State != BackfillActive {
		parts = append(parts, fmt.Sprintf("%s %s", r.State, in(r.EndedAt)))
	}
	return strings.Join(parts, "; ")
}

func TestABackfillGoesOn(t *testing.T) {
	t.Parallel()
	const sofia = "cron 30 3 * * *; zone Europe/Sofia"
	for _, row := range []struct {
		name, schedule, backfill, ran string
		running                       int
		want                          string
	}{
		{"buffer_all begins with the first, inclusive", tens, "from 09:00; to 10:00", "", 0, "09:00; done 09:00, made 1, left out 0"},
		{"buffer_all begins with the first after from", tens, "from 09:03; to 10:00", "", 0, "09:10; done 09:10, made 1, left out 0"},
		{"buffer_all waits for its job", tens, "from 09:00; to 10:00; done 09:00; made 1", "", 1, "done 09:00, made 1, left out 0"},
		{"buffer_all goes on when it has ended", tens, "from 09:00; to 10:00; done 09:00; made 1", "", 0, "09:10; done 09:10, made 2, left out 0"},
		{"buffer_all is over with its last job made", tens, "from 09:00; to 09:10; done 09:10; made 2", "", 1, "done 09:10, made 2, left out 0; completed 11:00"},
		{"allow makes all at once, both ends inclusive", tens, "from 09:00; to 09:20; overlap allow", "", 0, "09:00; 09:10; 09:20; done 09:20, made 3, left out 0; completed 11:00"},
		{"allow does not wait", tens, "from 09:00; to 09:20; overlap allow; done 09:00; made 1", "", 1, "09:10; 09:20; done 09:20, made 3, left out 0; completed 11:00"},
		{"one instant", tens, "from 09:10; to 09:10", "", 0, "09:10; done 09:10, made 1, left out 0; completed 11:00"},
		{"nothing planned in the range", tens, "from 09:01; to 09:09", "", 0, "done 09:09, made 0, left out 0; completed 11:00"},
		{"all times again, those that ran too", tens, "from 09:00; to 09:10; overlap allow", "09:00", 0, "09:00; 09:10; done 09:10, made 2, left out 0; completed 11:00"},
		{"only missing leaves out what ran", tens, "from 09:00; to 09:20; overlap allow; missing", "09:00 09:20", 0, "09:10; done 09:20, made 1, left out 2; completed 11:00"},
		{"only missing with nothing missing", tens, "from 09:00; to 09:10; missing", "09:00 09:10", 0, "done 09:10, made 0, left out 2; completed 11:00"},
		{"only missing in a zone", sofia, "from 02T00:00; to 04T12:00; overlap allow; missing", "03T01:30", 0, "01:30; 04T01:30; done 04T12:00, made 2, left out 1; completed 11:00"},
		{"buffer_all passes over what ran while it waits", tens, "from 09:00; to 09:30; missing; done 09:00; made 1", "09:10", 1, "done 09:10, made 1, left out 1"},
		{"the limit ends it short of to", tens, "from 09:00; to 10:00; overlap allow; limit 2", "", 0, "09:00; 09:10; done 09:10, made 2, left out 0; completed 11:00"},
		{"the limit counts jobs and not what is left out", tens, "from 09:00; to 10:00; overlap allow; limit 2; missing", "09:00 09:20", 0, "09:10; 09:30; done 09:30, made 2, left out 2; completed 11:00"},
		{"the limit over several passes", tens, "from 09:00; to 10:00; limit 2; done 09:10; made 2", "", 0, "done 09:10, made 2, left out 0; completed 11:00"},
		{"a calendar keeps times out", tens + "blackout lunch", "from 11:50; to 13:10; overlap allow", "", 0, "11:50; 13:00; 13:10; done 13:10, made 3, left out 6; completed 11:00"},
		{"and those that next_open moves as well", tens + "blackout lunch; closed next_open", "from 12:30; to 13:00; overlap allow", "", 0, "13:00; done 13:00, made 1, left out 3; completed 11:00"},
		{"times before the schedule's start are none", tens + "start 09:30", "from 09:00; to 09:40; overlap allow", "", 0, "09:30; 09:40; done 09:40, made 2, left out 0; completed 11:00"},
		{"times after its end are none", tens + "end 09:10", "from 09:00; to 09:40; overlap allow", "", 0, "09:00; 09:10; done 09:40, made 2, left out 0; completed 11:00"},
		{"max runs do not count", tens + "limit 1", "from 09:00; to 09:10; overlap allow", "", 0, "09:00; 09:10; done 09:10, made 2, left out 0; completed 11:00"},
		{"several rules", tens + "at 09:05", "from 09:00; to 09:10; overlap allow", "", 0, "09:00; 09:05; 09:10; done 09:10, made 3, left out 0; completed 11:00"},
		{"without planned times", "after 5m", "from 09:00; to 09:10", "", 0, "done 09:10, made 0, left out 0; completed 11:00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, plan := scheduleOf(t, row.schedule)
			ran := map[time.Time]bool{}
			for text := range strings.FieldsSeq(row.ran) {
				ran[at(text)] = true
			}
			r := Fill(backfillOf(t, row.backfill), s, plan, ran, row.running, BackfillStep, at("11:00"))
			if refillText(r) != row.want {
				t.Errorf("%s\n%s\ngot  %s\nwant %s", row.schedule, row.backfill, refillText(r), row.want)
			}
		})
	}
}

func TestAPassOfABackfillIsBounded(t *testing.T) {
	t.Parallel()
	s, plan := scheduleOf(t, "every 1m; start 02T00:00")
	b := backfillOf(t, "from 02T00:00; to 03T00:00; overlap allow; limit 100000")
	candidates := b.Candidates(s, plan)
	if len(candidates) != BackfillStep || !candidates[0].Equal(b.From) {
		t.Errorf("%d candidates from %s", len(candidates), in(candidates[0]))
	}
	made := 0
	for passes := 1; b.State == BackfillActive; passes++ {
		r := Fill(b, s, plan, nil, 0, BackfillStep, at("03T01:00"))
		if len(r.Run) > BackfillStep || passes > 10 {
			t.Fatalf("pass %d made %d jobs", passes, len(r.Run))
		}
		made, b = made+len(r.Run), r.Backfill
	}
	if made != 24*60+1 || b.Made != made {
		t.Errorf("%d jobs in a day of minutes and its end, %d counted", made, b.Made)
	}
	if left := backfillOf(t, "from 02T00:00; to 00:05; done 00:03").Candidates(s, plan); len(left) != 2 {
		t.Errorf("%d candidates to the end, want 2", len(left))
	}
	// Leaving out is work as well.
	ran := map[time.Time]bool{}
	b = backfillOf(t, "from 02T00:00; to 03T00:00; missing")
	for _, t := range b.Candidates(s, plan) {
		ran[t] = true
	}
	if r := Fill(b, s, plan, ran, 0, BackfillStep, at("03T01:00")); r.LeftOut != BackfillStep || r.State != BackfillActive || len(r.Run) > 0 {
		t.Errorf("%s", refillText(r))
	}
}

func TestABackfillRowOfSeveralTimesIsSplit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, schedule, row, taken, want string }{
		{"the first", tens, "09:00 09:50 6", "09:00", "09:10..09:50 x5"},
		{"the last", tens, "09:00 09:50 6", "09:50", "09:00..09:40 x5"},
		{"one in the middle", tens, "09:00 09:50 6", "09:20", "09:00..09:10 x2; 09:30..09:50 x3"},
		{"all but one", tens, "09:00 09:20 3", "09:00 09:20", "09:10"},
		{"all", tens, "09:00 09:20 3", "09:00 09:10 09:20", ""},
		{"every other", tens, "09:00 09:40 5", "09:10 09:30", "09:00; 09:20; 09:40"},
		{"others' times are passed over", tens, "09:10 09:30 3", "09:00 09:20 09:40", "09:10; 09:30"},
		{"no time of the row", tens, "09:10 09:30 3", "09:00 09:15", "09:10..09:30 x3"},
		{"in a zone", "cron 30 3 * * *; zone Europe/Sofia", "01:30 05T01:30 4", "03T01:30", "01:30; 04T01:30..05T01:30 x2"},
		{"more than can be counted, and still", "cron * * * * *", "10:00 20T10:00 10001", "10:00", "10:01..20T10:00 x10001"},
		{"more than can be counted, and now they can", "cron * * * * *", "10:00 09T08:40 10001", "10:00 10:01", "10:02..09T08:40 x9999"},
		{"with a long row before", "cron * * * * *", "10:00 20T10:00 10001", "19T10:00", "10:00..19T09:59 x10001; 19T10:01..20T10:00 x1440"},
		{"the rules are others by now", hourly, "09:00 09:50 6", "09:00", "09:50..09:50 x5"},
		{"the rules are others by now, with times left", hourly, "09:00 12:50 24", "10:00", "09:00; 11:00..12:50 x22"},
		{"the rules are thinner, and it was short", hourly, "10:00 12:00 2", "10:00 11:00", "12:00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, plan := scheduleOf(t, row.schedule)
			f := strings.Fields(row.row)
			o := Occurrence{ScheduleID: 1, Nominal: at(f[0]), Until: at(f[1]), Count: int(number(f[2])), DueAt: at(f[0]),
				Decision: DecidedSkipped, Reason: ReasonPaused, Note: "n", DecidedAt: at("21T00:00")}
			var taken []time.Time
			for text := range strings.FieldsSeq(row.taken) {
				taken = append(taken, at(text))
			}
			var got []string
			for _, piece := range o.Without(s, plan, taken) {
				text := in(piece.Nominal)
				if piece.Count > 1 {
					text += fmt.Sprintf("..%s x%d", in(piece.Until), piece.Count)
				}
				if (piece.Count > 1) == piece.Until.IsZero() || !piece.DueAt.Equal(piece.Nominal) ||
					piece.Reason != ReasonPaused || piece.Note != "n" || piece.Decision != DecidedSkipped || !piece.DecidedAt.Equal(o.DecidedAt) {
					t.Errorf("%+v", piece)
				}
				got = append(got, text)
			}
			if strings.Join(got, "; ") != row.want {
				t.Errorf("%s without %s\ngot  %s\nwant %s", row.row, row.taken, strings.Join(got, "; "), row.want)
			}
		})
	}
}

func TestBackfillsAreChecked(t *testing.T) {
	now := at("11:00")
	refuses(t, func() Backfill { return backfillOf(t, "from 09:00; to 10:00") }, func(b Backfill) error { return b.Validate(now) }, []refusal[Backfill]{
		{"as it is", func(*Backfill) {}, "", ""},
		{"up to now", func(b *Backfill) { b.To = now }, "", ""},
		{"one instant", func(b *Backfill) { b.To = b.From }, "", ""},
		{"allow", func(b *Backfill) { b.Overlap = OverlapAllow }, "", ""},
		{"the most", func(b *Backfill) { b.Limit = MaxBackfillLimit }, "", ""},
		{"no schedule", func(b *Backfill) { b.Schedule = "" }, "schedule", "is missing"},
		{"bad namespace", func(b *Backfill) { b.Namespace = "a b" }, "namespace", "is not a name"},
		{"no from", func(b *Backfill) { b.From = time.Time{} }, "from", "is missing (the first"},
		{"no to", func(b *Backfill) { b.To = time.Time{} }, "to", "is missing (the last"},
		{"backwards", func(b *Backfill) { b.To = at("08:59") }, "to", `"2026-03-02T08:59:00Z": is before from`},
		{"in the future", func(b *Backfill) { b.To = at("11:01") }, "to", "is in the future (the schedule itself"},
		{"skip", func(b *Backfill) { b.Overlap = OverlapSkip }, "overlap", "makes no sense for a backfill (buffer_all"},
		{"no job", func(b *Backfill) { b.Limit = -1 }, "limit", `"-1": is outside 1 to 100000`},
		{"too many jobs", func(b *Backfill) { b.Limit = MaxBackfillLimit + 1 }, "limit", "is outside 1 to"},
		{"long note", func(b *Backfill) { b.Note = long }, "note", "more than 4096"},
	})
	b := Backfill{From: now.Add(1500 * time.Nanosecond)}.WithDefaults()
	if b.Namespace != core.DefaultNamespace || b.Overlap != OverlapBufferAll || b.Limit != DefaultBackfillLimit || b.From.Nanosecond() != 1000 || !b.To.IsZero() {
		t.Errorf("defaults %+v", b)
	}
	if !slices.Equal([]BackfillState{BackfillActive, BackfillPaused, BackfillCompleted, BackfillCanceled}, []BackfillState{"active", "paused", "completed", "canceled"}) {
		t.Error("the words of the database changed")
	}
}
