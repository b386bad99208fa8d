package schedule

import (
	"reflect"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

const (
	tens   = "cron */10 * * * *; "
	hourly = "cron 0 * * * *; "
)

// decision is one row: a schedule, the facts before, the call, and the whole expected
// result.
type decision struct{ name, schedule, before, ask, want string }

func (row decision) run(t *testing.T) {
	t.Parallel()
	s, plan := scheduleOf(t, row.schedule)
	f := factsOf(t, &s, row.before)
	given, facts := s, factsOf(t, &s, row.before)
	got, now := doneBy(t, row.ask, s, plan, f)
	if told(got) != row.want {
		t.Errorf("%s\nbefore  %s\n%s\ngot     %s\nwant    %s", row.schedule, row.before, row.ask, told(got), row.want)
	}
	checkRows(t, got, now)
	if again, _ := doneBy(t, row.ask, s, plan, f); !reflect.DeepEqual(again, got) {
		t.Errorf("asked again it says %s", told(again))
	}
	if !reflect.DeepEqual(given, s) || !reflect.DeepEqual(facts, f) {
		t.Error("the question was changed by the answer")
	}
}

func decisions(t *testing.T, rows []decision) {
	t.Helper()
	t.Parallel()
	for _, row := range rows {
		t.Run(row.name, row.run)
	}
}

func TestARunOnTime(t *testing.T) {
	decisions(t, []decision{
		{"to the microsecond", tens, "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"a little late", tens, "mark 09:50", "fire 10:00:05", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"asked too early", tens, "mark 09:50", "fire 09:59:59", "mark 09:50; next 10:00"},
		{"asked again by another node", tens, "mark 10:00; runs 1; active 7", "fire 10:00", "mark 10:00; runs 1; next 10:10"},
		{"a paused schedule keeps still", tens, "mark 09:50; paused", "fire 10:00", "mark 09:50; next never; paused"},
		{"a completed schedule keeps still", tens, "mark 09:50; completed; runs 3", "fire 10:00", "mark 09:50; runs 3; next never; completed"},
		{"without rules nothing ever happens by itself", "", "mark 09:50", "fire 10:00", "mark 09:50; next never"},
		{"several rules take turns", tens + "cron 5 10 * * *", "mark 10:00", "fire 10:05", "10:05 job; mark 10:05; runs 1; next 10:10"},
		{"several rules with the same instant count once", tens + hourly + "at 10:00", "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"an interval counts from its start", "every 10m; start 09:03", "mark 09:53", "fire 10:03", "10:03 job; mark 10:03; runs 1; next 10:13"},
		{"a time that a clock change removes runs after the gap", "cron 30 3 * * *; zone Europe/Sofia", "mark 28T12:00", "fire 29T01:00",
			"29T01:00 job; mark 29T01:00; runs 1; next 30T00:30"},
		{"a time that a clock change repeats runs the first time", "cron 30 3 * * *; zone Europe/Sofia", "mark 2026-10-24T12:00", "fire 2026-10-25T00:30",
			"2026-10-25T00:30 job; mark 2026-10-25T00:30; runs 1; next 2026-10-26T01:30"},
	})
}

func TestMissedRuns(t *testing.T) {
	decisions(t, []decision{
		{"latest runs the newest one", tens + "catchup latest", "mark 09:20", "fire 10:00", "09:30..09:50 x3 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"latest with one missed", tens + "catchup latest", "mark 09:40", "fire 10:00", "09:50 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"latest with nothing but old ones", hourly + "window 10m", "mark 08:00", "fire 10:30", "09:00..10:00 x2 skipped catchup_window; mark 10:00; next 11:00"},
		{"latest splits old and new", tens, "mark 08:30", "fire 10:00:05", "08:40..09:00 x3 skipped catchup_window; 09:10..09:50 x5 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"the edge of the window is inside", tens, "mark 08:30", "fire 10:00", "08:40..08:50 x2 skipped catchup_window; 09:00..09:50 x6 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"one at the edge of the window", hourly, "mark 08:00", "fire 10:00", "09:00 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next 11:00"},
		{"one a microsecond outside the window", "at 09:00", "mark 08:00", "fire 10:00:01", "09:00 skipped catchup_window; mark 09:00; next never; completed"},
		{"one just inside the window", "at 09:00", "mark 08:00", "fire 09:59:59", "09:00 job; mark 09:00; runs 1; next never; completed"},
		{"all runs every one", tens + "catchup all; overlap allow", "mark 09:20", "fire 10:00", "09:30 job; 09:40 job; 09:50 job; 10:00 job; mark 10:00; runs 4; next 10:10"},
		{"all runs the newest up to max", tens + "catchup all; max 2; overlap allow", "mark 09:20", "fire 10:00", "09:30..09:40 x2 skipped catchup_max; 09:50 job; 10:00 job; mark 10:00; runs 2; next 10:10"},
		{"all with exactly max", tens + "catchup all; max 2; overlap allow", "mark 09:40", "fire 10:00", "09:50 job; 10:00 job; mark 10:00; runs 2; next 10:10"},
		{"all with max 1 is like latest", tens + "catchup all; max 1", "mark 09:40", "fire 10:00", "09:50 skipped catchup_max; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"all with window and max", tens + "catchup all; max 2; overlap allow; window 30m", "mark 09:00", "fire 10:00", "09:10..09:20 x2 skipped catchup_window; 09:30..09:40 x2 skipped catchup_max; 09:50 job; 10:00 job; mark 10:00; runs 2; next 10:10"},
		{"none runs what is on time", tens + "catchup none", "mark 09:50", "fire 10:00:10", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"none skips what is late", tens + "catchup none", "mark 09:50", "fire 10:00:11", "10:00 skipped catchup_none; mark 10:00; next 10:10"},
		{"none skips the old and runs the present", tens + "catchup none", "mark 09:30", "fire 10:00:05", "09:40..09:50 x2 skipped catchup_none; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"none has no use for the window", tens + "catchup none; window 5h", "mark 09:30", "fire 10:05", "09:40..10:00 x3 skipped catchup_none; mark 10:00; next 10:10"},
		{"none among seconds runs the newest of those on time", "cron */5 * * * * *; catchup none", "mark 09:59:40", "fire 10:00", "09:59:45 skipped catchup_none; 09:59:50..09:59:55 x2 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next 10:00:05"},
		{"three days down", tens, "mark 09:50", "fire 05T10:00", "10:00..05T08:50 x426 skipped catchup_window; 05T09:00..05T09:50 x6 skipped catchup_latest; 05T10:00 job; mark 05T10:00; runs 1; next 05T10:10"},
		{"three days down, all", hourly + "catchup all; max 2; window 4d; overlap allow", "mark 10:00", "fire 05T10:30", "11:00..05T08:00 x70 skipped catchup_max; 05T09:00 job; 05T10:00 job; mark 05T10:00; runs 2; next 05T11:00"},
		{"three days down, none", hourly + "catchup none", "mark 10:00", "fire 05T10:30", "11:00..05T10:00 x72 skipped catchup_none; mark 05T10:00; next 05T11:00"},
		{"more than ten thousand share a row", "cron * * * * *", "mark 10:00", "fire 10T10:00", "10:01..10T08:59 x10001 skipped catchup_window; 10T09:00..10T09:59 x60 skipped catchup_latest; 10T10:00 job; mark 10T10:00; runs 1; next 10T10:01"},
		{"ten thousand exactly", "cron * * * * *; catchup none", "mark 10:00", "fire 09T08:40:30", "10:01..09T08:40 x10000 skipped catchup_none; mark 09T08:40; next 09T08:41"},
		{"a clock one hour forward is downtime", tens, "mark 10:00", "fire 11:00", "10:10..10:50 x5 skipped catchup_latest; 11:00 job; mark 11:00; runs 1; next 11:10"},
		{"a clock one hour forward, all", tens + "catchup all; max 2; overlap allow", "mark 10:00", "fire 11:00", "10:10..10:40 x4 skipped catchup_max; 10:50 job; 11:00 job; mark 11:00; runs 2; next 11:10"},
		{"a clock one hour forward, none", tens + "catchup none", "mark 10:00", "fire 11:00", "10:10..10:50 x5 skipped catchup_none; 11:00 job; mark 11:00; runs 1; next 11:10"},
		{"a clock one hour back fires nothing", tens, "mark 10:00; runs 9", "fire 09:00", "mark 10:00; runs 9; next 10:10"},
		{"a clock one hour back fires nothing a minute before either", tens, "mark 10:00; runs 9", "fire 10:09:59", "mark 10:00; runs 9; next 10:10"},
		{"after a clock one hour back all goes on", tens, "mark 10:00; runs 9", "fire 10:10", "10:10 job; mark 10:10; runs 10; next 10:20"},
		{"a missed start", tens + "start 09:45", "mark 09:00", "fire 10:00", "09:50 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next 10:10"},
	})
}

func TestOverlapSkip(t *testing.T) {
	const skip, all = tens + "overlap skip", tens + "overlap skip; catchup all"
	decisions(t, []decision{
		{"free", skip, "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"active", skip, "mark 09:50; active 7", "fire 10:00", "10:00 skipped overlap; mark 10:00; next 10:10"},
		{"buffered under the policy before", skip, "mark 09:50; active 7; buffered 09:40", "fire 10:00", "10:00 skipped overlap; mark 10:00; next 10:10"},
		{"several, free", all, "mark 09:30", "fire 10:00", "09:40 job; 09:50 skipped overlap; 10:00 skipped overlap; mark 10:00; runs 1; next 10:10"},
		{"several, active", all, "mark 09:30; active 7", "fire 10:00", "09:40 skipped overlap; 09:50 skipped overlap; 10:00 skipped overlap; mark 10:00; next 10:10"},
		{"the end of the job frees the slot", skip, "mark 10:00; runs 1", "ended 10:02", "mark 10:00; runs 1; next 10:10"},
		{"the policy came later: one starts, the others are skipped", skip, "mark 10:00; buffered 09:40 09:50", "ended 10:02", "was 09:40 job; was 09:50 skipped overlap; mark 10:00; runs 1; next 10:10"},
		{"the policy came later and another job is active", skip, "mark 10:00; active 8; buffered 09:40 09:50", "ended 10:02", "was 09:40 skipped overlap; was 09:50 skipped overlap; mark 10:00; next 10:10"},
	})
}

func TestOverlapBufferOne(t *testing.T) {
	const one, all = tens + "overlap buffer_one", tens + "overlap buffer_one; catchup all"
	decisions(t, []decision{
		{"free", one, "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"active", one, "mark 09:50; active 7", "fire 10:00", "10:00 buffered; mark 10:00; next 10:10"},
		{"buffer full", one, "mark 09:50; active 7; buffered 09:50", "fire 10:00", "10:00 skipped buffer_full; mark 10:00; next 10:10"},
		{"buffer fuller than it may be", one, "mark 09:50; active 7; buffered 09:40 09:50", "fire 10:00", "10:00 skipped buffer_full; mark 10:00; next 10:10"},
		{"several, free", all, "mark 09:30", "fire 10:00", "09:40 job; 09:50 buffered; 10:00 skipped buffer_full; mark 10:00; runs 1; next 10:10"},
		{"several, active", all, "mark 09:30; active 7", "fire 10:00", "09:40 buffered; 09:50 skipped buffer_full; 10:00 skipped buffer_full; mark 10:00; next 10:10"},
		{"several, buffer full", all, "mark 09:40; active 7; buffered 09:40", "fire 10:00", "09:50 skipped buffer_full; 10:00 skipped buffer_full; mark 10:00; next 10:10"},
		{"the end of the job starts it", one, "mark 10:00; buffered 10:00; runs 1", "ended 10:02", "was 10:00 job; mark 10:00; runs 2; next 10:10"},
		{"the end of another job does not", one, "mark 10:00; active 8; buffered 10:00; runs 1", "ended 10:02", "mark 10:00; runs 1; next 10:10"},
		{"a paused schedule starts nothing", one, "mark 10:00; buffered 10:00; runs 1; paused", "ended 10:02", "mark 10:00; runs 1; next never; paused"},
	})
}

func TestOverlapBufferAll(t *testing.T) {
	const two, all = tens + "overlap buffer_all; buffer 2", tens + "overlap buffer_all; buffer 2; catchup all"
	decisions(t, []decision{
		{"free", two, "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"active", two, "mark 09:50; active 7", "fire 10:00", "10:00 buffered; mark 10:00; next 10:10"},
		{"active and one buffered", two, "mark 09:50; active 7; buffered 09:50", "fire 10:00", "10:00 buffered; mark 10:00; next 10:10"},
		{"buffer full", two, "mark 09:50; active 7; buffered 09:40 09:50", "fire 10:00", "10:00 skipped buffer_full; mark 10:00; next 10:10"},
		{"several, free", all, "mark 09:20", "fire 10:00", "09:30 job; 09:40 buffered; 09:50 buffered; 10:00 skipped buffer_full; mark 10:00; runs 1; next 10:10"},
		{"several, active", all, "mark 09:30; active 7", "fire 10:00", "09:40 buffered; 09:50 buffered; 10:00 skipped buffer_full; mark 10:00; next 10:10"},
		{"several, one place left", all, "mark 09:40; active 7; buffered 09:40", "fire 10:00", "09:50 buffered; 10:00 skipped buffer_full; mark 10:00; next 10:10"},
		{"the end of the job starts the oldest", two, "mark 10:00; buffered 09:50 10:00; runs 1", "ended 10:02", "was 09:50 job; mark 10:00; runs 2; next 10:10"},
		{"the end of another job does not", two, "mark 10:00; active 8; buffered 09:50 10:00; runs 1", "ended 10:02", "mark 10:00; runs 1; next 10:10"},
		{"nothing waits", two, "mark 10:00; runs 1", "ended 10:02", "mark 10:00; runs 1; next 10:10"},
	})
}

func TestOverlapCancelOther(t *testing.T) {
	const other, all = tens + "overlap cancel_other", tens + "overlap cancel_other; catchup all"
	decisions(t, []decision{
		{"free", other, "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"active", other, "mark 09:50; active 7", "fire 10:00", "10:00 buffered; cancel 7; mark 10:00; next 10:10"},
		{"two active", other, "mark 09:50; active 7 8", "fire 10:00", "10:00 buffered; cancel 7 8; mark 10:00; next 10:10"},
		{"replaces the one that waits", other, "mark 09:50; active 7; buffered 09:50", "fire 10:00", "10:00 buffered; was 09:50 skipped replaced; cancel 7; mark 10:00; next 10:10"},
		{"replaces all that wait", other, "mark 09:50; active 7; buffered 09:40 09:50", "fire 10:00", "10:00 buffered; was 09:40 skipped replaced; was 09:50 skipped replaced; cancel 7; mark 10:00; next 10:10"},
		{"several, free: the newest stays", all, "mark 09:30", "fire 10:00", "09:40 skipped replaced; 09:50 skipped replaced; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"several, active", all, "mark 09:30; active 7", "fire 10:00", "09:40 skipped replaced; 09:50 skipped replaced; 10:00 buffered; cancel 7; mark 10:00; next 10:10"},
		{"several, buffered", all, "mark 09:40; active 7; buffered 09:40", "fire 10:00", "09:50 skipped replaced; 10:00 buffered; was 09:40 skipped replaced; cancel 7; mark 10:00; next 10:10"},
		{"the other ends and it starts", other, "mark 10:00; buffered 10:00; runs 1", "ended 10:02", "was 10:00 job; mark 10:00; runs 2; next 10:10"},
		{"one of two others ends and it waits on", other, "mark 10:00; active 8; buffered 10:00; runs 1", "ended 10:02", "mark 10:00; runs 1; next 10:10"},
	})
}

func TestOverlapTerminateOther(t *testing.T) {
	const other, all = tens + "overlap terminate_other", tens + "overlap terminate_other; catchup all"
	decisions(t, []decision{
		{"free", other, "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"active", other, "mark 09:50; active 7", "fire 10:00", "10:00 job; terminate 7; mark 10:00; runs 1; next 10:10"},
		{"two active", other, "mark 09:50; active 7 8", "fire 10:00", "10:00 job; terminate 7 8; mark 10:00; runs 1; next 10:10"},
		{"several, free: the newest stays", all, "mark 09:30", "fire 10:00", "09:40 skipped replaced; 09:50 skipped replaced; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"several, active", all, "mark 09:30; active 7", "fire 10:00", "09:40 skipped replaced; 09:50 skipped replaced; 10:00 job; terminate 7; mark 10:00; runs 1; next 10:10"},
		{"buffered under the policy before", other, "mark 09:50; active 7; buffered 09:50", "fire 10:00", "10:00 job; terminate 7; mark 10:00; runs 1; next 10:10"},
		{"the policy came later: one starts, the others are skipped", other, "mark 10:00; buffered 09:40 09:50", "ended 10:02", "was 09:40 job; was 09:50 skipped overlap; mark 10:00; runs 1; next 10:10"},
	})
}

func TestOverlapAllow(t *testing.T) {
	const allow, all = tens + "overlap allow", tens + "overlap allow; catchup all"
	decisions(t, []decision{
		{"free", allow, "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"active", allow, "mark 09:50; active 7 8", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"several, active", all, "mark 09:40; active 7", "fire 10:00", "09:50 job; 10:00 job; mark 10:00; runs 2; next 10:10"},
		{"the policy came later: all that wait start", allow, "mark 10:00; active 7; buffered 09:40 09:50", "ended 10:02", "was 09:40 job; was 09:50 job; mark 10:00; runs 2; next 10:10"},
	})
}

func TestMaxRuns(t *testing.T) {
	decisions(t, []decision{
		{"the last run completes the schedule in the same decision", tens + "limit 3", "mark 09:50; runs 2", "fire 10:00", "10:00 job; mark 10:00; runs 3; next never; completed"},
		{"one before the last", tens + "limit 3", "mark 09:50; runs 1", "fire 10:00", "10:00 job; mark 10:00; runs 2; next 10:10"},
		{"counted after latest", tens + "limit 1", "mark 09:00", "fire 10:00", "09:10..09:50 x5 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next never; completed"},
		{"counted after the window", tens + "limit 1; window 10m", "mark 09:30", "fire 10:05", "09:40..09:50 x2 skipped catchup_window; 10:00 job; mark 10:00; runs 1; next never; completed"},
		{"counted after catchup_max, the oldest first", tens + "limit 2; catchup all; max 3; overlap allow", "mark 09:20", "fire 10:00", "09:30 skipped catchup_max; 09:40 job; 09:50 job; 10:00 skipped max_runs; mark 10:00; runs 2; next never; completed"},
		{"missed runs do not count", tens + "limit 1; catchup none", "mark 09:50", "fire 10:05", "10:00 skipped catchup_none; mark 10:00; next 10:10"},
		{"skipped runs do not count", tens + "limit 2", "mark 09:50; active 7; runs 1", "fire 10:00", "10:00 skipped overlap; mark 10:00; runs 1; next 10:10"},
		{"a run that waits counts, and holds the schedule open", tens + "limit 2; overlap buffer_all", "mark 09:50; active 7; runs 1", "fire 10:00", "10:00 buffered; mark 10:00; runs 1; next never"},
		{"no room beside one that waits", tens + "limit 2; overlap buffer_all; catchup all", "mark 09:40; active 7; runs 1", "fire 10:00", "09:50 buffered; 10:00 skipped max_runs; mark 10:00; runs 1; next never"},
		{"the last one that waits completes it", tens + "limit 2; overlap buffer_all", "mark 10:00; buffered 10:00; runs 1", "ended 10:02", "was 10:00 job; mark 10:00; runs 2; next never; completed"},
		{"lowered while one waits", tens + "limit 1; overlap buffer_all", "mark 10:00; buffered 10:00; runs 1", "ended 10:02", "was 10:00 skipped max_runs; mark 10:00; runs 1; next never; completed"},
		{"lowered while two wait", tens + "limit 2; overlap allow", "mark 10:00; buffered 09:50 10:00; runs 1", "ended 10:02", "was 09:50 job; was 10:00 skipped max_runs; mark 10:00; runs 2; next never; completed"},
		{"the one that replaces counts once", tens + "limit 2; overlap terminate_other", "mark 09:50; active 7; runs 1", "fire 10:00", "10:00 job; terminate 7; mark 10:00; runs 2; next never; completed"},
		{"one that waits, withdrawn by the policy of now, gives its run back", tens + "limit 3; overlap skip", "mark 10:00; active 8; buffered 10:00; runs 2", "ended 10:02", "was 10:00 skipped overlap; mark 10:00; runs 2; next 10:10"},
		{"the last run from the finish", "after 5m; limit 2", "mark 09:00; finish 10:00; runs 1", "fire 10:00", "10:00 job; mark 10:00; runs 2; next never; completed"},
	})
}

func TestStartAndEnd(t *testing.T) {
	decisions(t, []decision{
		{"start later", tens + "start 10:15", "new", "begin 10:00", "mark 10:00; next 10:20"},
		{"start is itself a time", tens + "start 10:20", "new", "begin 10:00", "mark 10:00; next 10:20"},
		{"start now", tens + "start 10:00", "new", "begin 10:00", "mark 09:59:59.999999; next 10:00"},
		{"an edit now does not run what is now", tens + "start 10:00", "mark 09:55", "begin 10:00", "mark 10:00; next 10:10"},
		{"start in 2099", tens + "start 2099-01-01T00:00", "new", "begin 10:00", "mark 10:00; next 2099-01-01T00:00"},
		{"start in 2099 stays quiet", tens + "start 2099-01-01T00:00", "mark 10:00", "fire 10:10", "mark 10:00; next 2099-01-01T00:00"},
		{"start in 2099 stays quiet for years", tens + "start 2099-01-01T00:00", "mark 10:00", "fire 2098-12-31T23:59", "mark 10:00; next 2099-01-01T00:00"},
		{"start in 2099 comes", tens + "start 2099-01-01T00:00", "mark 10:00", "fire 2099-01-01T00:00", "2099-01-01T00:00 job; mark 2099-01-01T00:00; runs 1; next 2099-01-01T00:10"},
		{"start in 2099, paused and resumed", tens + "start 2099-01-01T00:00", "mark 10:00; paused", "resume 12:00", "mark 12:00; next 2099-01-01T00:00"},
		{"start in 2099, from the finish", "after 5m; start 2099-01-01T00:00", "new", "begin 10:00", "mark 10:00; finish 2099-01-01T00:00; next 2099-01-01T00:00"},
		{"start moved to 2099 while a run is under way", "after 5m; start 2099-01-01T00:00", "mark 10:00", "ended 10:02", "mark 10:00; finish 2099-01-01T00:00; next 2099-01-01T00:00"},
		{"start moved to 2099, paused before that run ended", "after 5m; start 2099-01-01T00:00", "mark 10:00; paused", "resume 10:03", "mark 10:03; finish 2099-01-01T00:00; next 2099-01-01T00:00"},
		{"start moved to 2099, paused before that run ended, with catch-up", "after 5m; start 2099-01-01T00:00", "mark 10:00; paused", "catchup 10:03", "mark 10:00; finish 2099-01-01T00:00; next 2099-01-01T00:00"},
		{"an interval is in step with its start", "every 10m; start 10:03", "new", "begin 10:00", "mark 10:00; next 10:03"},
		{"an interval whose start has passed keeps its step", "every 10m; start 09:03", "new", "begin 10:00", "mark 10:00; next 10:03"},
		{"the last one before the end completes the schedule", tens + "end 10:05", "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next never; completed"},
		{"the end is a time as well", tens + "end 10:00", "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next never; completed"},
		{"one more before the end", tens + "end 10:10", "mark 09:50", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:10"},
		{"the end passed while nobody looked", tens + "end 10:00", "mark 09:30", "fire 10:30", "09:40..09:50 x2 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next never; completed"},
		{"the end passed long ago", tens + "end 10:00", "mark 09:30", "fire 12:00", "09:40..10:00 x3 skipped catchup_window; mark 10:00; next never; completed"},
		{"the last one is skipped", tens + "end 10:00", "mark 09:50; active 7", "fire 10:00", "10:00 skipped overlap; mark 10:00; next never; completed"},
		{"the last one waits and holds the schedule open", tens + "end 10:00; overlap buffer_one", "mark 09:50; active 7", "fire 10:00", "10:00 buffered; mark 10:00; next never"},
		{"the last one that waited completes it", tens + "end 10:00; overlap buffer_one", "mark 10:00; buffered 10:00; runs 1", "ended 10:02", "was 10:00 job; mark 10:00; runs 2; next never; completed"},
		{"the end of a job of a completed schedule changes nothing", tens + "end 10:00", "mark 10:00; completed; runs 1", "ended 10:02", "mark 10:00; runs 1; next never; completed"},
	})
}

func TestSingleInstants(t *testing.T) {
	decisions(t, []decision{
		{"waits", "at 10:00", "new", "begin 09:00", "mark 09:00; next 10:00"},
		{"fires once and is completed", "at 10:00", "mark 09:00", "fire 10:00", "10:00 job; mark 10:00; runs 1; next never; completed"},
		{"fires late", "at 10:00", "mark 09:00", "fire 10:59", "10:00 job; mark 10:00; runs 1; next never; completed"},
		{"too late", "at 10:00", "mark 09:00", "fire 11:01", "10:00 skipped catchup_window; mark 10:00; next never; completed"},
		{"late and no catch-up", "at 10:00; catchup none", "mark 09:00", "fire 10:01", "10:00 skipped catchup_none; mark 10:00; next never; completed"},
		{"never twice", "at 10:00", "mark 10:00; runs 1; completed", "fire 10:01", "mark 10:00; runs 1; next never; completed"},
		{"the first of several", "at 10:30 10:00 10:05", "mark 09:00", "fire 10:00", "10:00 job; mark 10:00; runs 1; next 10:05"},
		{"the last of several", "at 10:30 10:00 10:05", "mark 10:05; runs 2", "fire 10:30", "10:30 job; mark 10:30; runs 3; next never; completed"},
		{"several missed", "at 10:00 10:05 10:30", "mark 09:00", "fire 10:30", "10:00..10:05 x2 skipped catchup_latest; 10:30 job; mark 10:30; runs 1; next never; completed"},
		{"the same twice counts once", "at 10:00 10:00", "mark 09:00", "fire 10:00", "10:00 job; mark 10:00; runs 1; next never; completed"},
		{"beside a cron rule", tens + "at 10:03", "mark 10:00", "fire 10:03", "10:03 job; mark 10:03; runs 1; next 10:10"},
		{"something is in the way", "at 10:00", "mark 09:00; active 7", "fire 10:00", "10:00 skipped overlap; mark 10:00; next never; completed"},
		{"waits for what is in the way", "at 10:00; overlap buffer_one", "mark 09:00; active 7", "fire 10:00", "10:00 buffered; mark 10:00; next never"},
		{"starts when the way is free", "at 10:00; overlap buffer_one", "mark 10:00; buffered 10:00", "ended 10:02", "was 10:00 job; mark 10:00; runs 1; next never; completed"},
		{"has passed at the edit", "at 10:00", "mark 10:02", "begin 10:02", "mark 10:02; next never; completed"},
		{"passed in the pause", "at 10:00", "mark 09:00; paused", "resume 10:02", "10:00 skipped paused; mark 10:02; next never; completed"},
	})
}

func TestIntervalsFromTheFinish(t *testing.T) {
	const five = "after 5m; "
	decisions(t, []decision{
		{"first run at once", five, "new", "begin 10:00", "mark 10:00; finish 10:00; next 10:00"},
		{"first run at the start", five + "start 10:30", "new", "begin 10:00", "mark 10:00; finish 10:30; next 10:30"},
		{"runs, and waits for its end", five, "mark 10:00; finish 10:00", "fire 10:00", "10:00 job; mark 10:00; runs 1; next never"},
		{"counts from the end", five, "mark 10:00; runs 1", "ended 10:02", "mark 10:00; finish 10:07; runs 1; next 10:07"},
		{"not before its time", five, "mark 10:00; finish 10:07", "fire 10:06:59", "mark 10:00; finish 10:07; next 10:07"},
		{"three days late it still runs", five + "catchup none", "mark 10:00; finish 10:07", "fire 05T10:00", "10:07 job; mark 10:07; runs 1; next never"},
		{"while another job of the schedule is active", five, "mark 10:00; finish 10:07; active 7", "fire 10:07", "10:07 skipped overlap; mark 10:07; next never"},
		{"takes up the loop when that job ends", five, "mark 10:07", "ended 10:09", "mark 10:07; finish 10:14; next 10:14"},
		{"one of two jobs ends", five, "mark 10:07; active 8", "ended 10:09", "mark 10:07; next never"},
		{"the end of a job beside it does not move it", five, "mark 10:00; finish 10:07", "ended 10:03", "mark 10:00; finish 10:07; next 10:07"},
		{"waits under buffer_one", five + "overlap buffer_one", "mark 10:00; finish 10:07; active 7", "fire 10:07", "10:07 buffered; mark 10:07; next never"},
		{"starts what waits, and counts from the end of that", five + "overlap buffer_one", "mark 10:07; buffered 10:07", "ended 10:09", "was 10:07 job; mark 10:07; runs 1; next never"},
		{"two rules: the shorter one", five + "after 3m", "mark 10:00", "ended 10:02", "mark 10:00; finish 10:05; next 10:05"},
		{"beside a plan: the plan comes first", five + tens, "mark 10:00; finish 10:12", "fire 10:10", "10:10 job; mark 10:10; finish 10:12; runs 1; next 10:12"},
		{"beside a plan: the last run of all takes its time away", five + tens + "limit 1", "mark 10:00; finish 10:12", "fire 10:10", "10:10 job; mark 10:10; runs 1; next never; completed"},
		{"beside a plan: it comes while the planned run is active", five + tens, "mark 10:10; finish 10:12; active 7", "fire 10:12", "10:12 skipped overlap; mark 10:12; next 10:20"},
		{"beside a plan: it comes first", five + tens, "mark 10:00; finish 10:07", "fire 10:07", "10:07 job; mark 10:07; runs 1; next 10:10"},
		{"beside a plan: at the same instant they are one run", five + tens, "mark 10:00; finish 10:10", "fire 10:10", "10:10 job; mark 10:10; runs 1; next 10:20"},
		{"beside a plan: both missed", five + tens, "mark 10:00; finish 10:07", "fire 10:25", "10:10 skipped catchup_latest; 10:07 job; 10:20 skipped overlap; mark 10:20; runs 1; next 10:30"},
		{"beside a plan: the same instant, skipped by catch-up", five + tens, "mark 10:00; finish 10:10", "fire 10:25", "10:10 skipped catchup_latest; 10:10:00.000001 job; 10:20 skipped overlap; mark 10:20; runs 1; next 10:30"},
		{"beside a plan: the end of a run", five + tens, "mark 10:10", "ended 10:18", "mark 10:10; finish 10:23; next 10:20"},
		{"beside a plan: what waits starts, and counts from the end of that", five + tens + "overlap buffer_one", "mark 10:10; buffered 10:10; runs 1", "ended 10:18", "was 10:10 job; mark 10:10; runs 2; next 10:20"},
		{"the end leaves room", five + "end 10:10", "mark 10:00", "ended 10:02", "mark 10:00; finish 10:07; next 10:07"},
		{"the end leaves room for one at the end", five + "end 10:10", "mark 10:00", "ended 10:05", "mark 10:00; finish 10:10; next 10:10"},
		{"the end leaves no room", five + "end 10:10", "mark 10:00", "ended 10:05:01", "mark 10:00; next never; completed"},
		{"the end has passed", five + "end 10:10", "mark 10:00", "ended 10:20", "mark 10:00; next never; completed"},
		{"the last run before the end may still be followed by one", five + "end 10:10", "mark 10:00; finish 10:04", "fire 10:04", "10:04 job; mark 10:04; runs 1; next never"},
		{"the last run before the end", five + "end 10:10", "mark 10:00; finish 10:07", "fire 10:07", "10:07 job; mark 10:07; runs 1; next never; completed"},
		{"an edit while a run is under way", five, "mark 10:00; active 7; runs 1", "begin 10:03", "mark 10:03; runs 1; next never"},
		{"an edit while it waits starts anew", five, "mark 10:00; finish 10:07; runs 1", "begin 10:03", "mark 10:03; finish 10:03; runs 1; next 10:03"},
		{"an edit in the same instant as its run", five, "mark 10:03; runs 1", "begin 10:03", "mark 10:03; finish 10:03:00.000001; runs 1; next 10:03:00.000001"},
		{"a pause that it falls into", five, "mark 10:02; finish 10:07; paused", "resume 10:30", "mark 10:30; finish 10:30; next 10:30"},
		{"a pause shorter than the wait", five, "mark 10:02; finish 10:07; paused", "resume 10:04", "mark 10:04; finish 10:07; next 10:07"},
		{"a pause in which its run ended", five, "mark 10:02; paused", "resume 10:30", "mark 10:30; finish 10:30; next 10:30"},
		{"a pause that its run outlives", five, "mark 10:02; paused; active 7", "resume 10:30", "mark 10:30; next never"},
		{"a pause that it falls into, with another job active", five, "mark 10:02; finish 10:07; paused; active 7", "resume 10:30", "mark 10:30; finish 10:30; next 10:30"},
		{"a pause in which its run ended, with catch-up", five, "mark 10:02; paused", "catchup 10:30", "10:30 job; mark 10:30; runs 1; next never"},
		{"a pause that it falls into, with catch-up", five, "mark 10:02; finish 10:07; paused", "catchup 10:30", "10:07 job; mark 10:07; runs 1; next never"},
		{"beside a plan: a pause that ends at a planned time", five + tens, "mark 10:02; paused", "resume 10:10", "10:10 skipped paused; mark 10:10; finish 10:10:00.000001; next 10:10:00.000001"},
		{"a loop that lost its job takes up again", five + tens, "mark 10:00; runs 1", "fire 10:25", "10:10 skipped catchup_latest; 10:20 job; mark 10:20; runs 2; next 10:30"},
		{"a loop that lost its job, and all is missed", five + tens + "catchup none", "mark 10:00; runs 1", "fire 10:25", "10:10..10:20 x2 skipped catchup_none; mark 10:20; finish 10:30; runs 1; next 10:30"},
		{"the last run at the end, and the clock goes back", five + "end 10:10", "mark 10:10; runs 1", "ended 09:00", "mark 10:10; runs 1; next never; completed"},
		{"the clock goes back while it waits", five, "mark 10:00; finish 10:07", "fire 09:10", "mark 10:00; finish 10:07; next 09:15"},
		{"the clock goes back while it runs", five, "mark 10:00; runs 1", "ended 09:02", "mark 10:00; finish 10:00:00.000001; runs 1; next 09:07"},
		{"the clock went back, and its next look has come", five, "mark 10:00; finish 10:00:00.000001; next 09:07; runs 1", "fire 09:07", "10:00:00.000001 due 09:07 job; mark 10:00:00.000001; runs 2; next never"},
	})
}

func TestPauseAndResume(t *testing.T) {
	decisions(t, []decision{
		{"the pause is recorded in one row", tens, "mark 09:00; paused", "resume 10:00", "09:10..10:00 x6 skipped paused; mark 10:00; next 10:10"},
		{"a pause of one run", tens, "mark 09:40; paused", "resume 09:55", "09:50 skipped paused; mark 09:55; next 10:00"},
		{"a pause of nothing", tens, "mark 10:01; paused", "resume 10:03", "mark 10:03; next 10:10"},
		{"a pause of three days", tens, "mark 09:50; paused", "resume 05T09:55", "10:00..05T09:50 x432 skipped paused; mark 05T09:55; next 05T10:00"},
		{"a pause with a job still active", tens, "mark 09:00; paused; active 7", "resume 09:15", "09:10 skipped paused; mark 09:15; next 09:20"},
		{"a pause past the end", tens + "end 09:30", "mark 09:00; paused", "resume 10:00", "09:10..09:30 x3 skipped paused; mark 10:00; next never; completed"},
		{"a pause in which the clock went back", tens, "mark 10:00; paused", "resume 09:30", "mark 10:00; next 10:10"},
		{"the clock was far ahead before", tens, "mark 31T10:00; paused", "resume 10:03", "mark 10:03; next 10:10"},
		{"the same, with catch-up", tens, "mark 31T10:00; paused", "catchup 10:03", "mark 10:03; next 10:10"},
		{"a pause of a schedule without rules", "", "mark 10:00; paused", "resume 10:30", "mark 10:30; next never"},
		{"runs that were counted stay counted", tens + "limit 3", "mark 09:50; paused; runs 2", "resume 10:05", "10:00 skipped paused; mark 10:05; runs 2; next 10:10"},
		{"catch-up, latest", tens, "mark 09:00; paused", "catchup 10:00", "09:10..09:50 x5 skipped catchup_latest; 10:00 job; mark 10:00; runs 1; next 10:10"},
		{"catch-up, all", tens + "catchup all; overlap allow", "mark 09:40; paused", "catchup 10:03", "09:50 job; 10:00 job; mark 10:00; runs 2; next 10:10"},
		{"catch-up, none", tens + "catchup none", "mark 09:40; paused", "catchup 10:03", "09:50..10:00 x2 skipped catchup_none; mark 10:00; next 10:10"},
		{"catch-up of a long pause", hourly, "mark 04:00; paused", "catchup 10:03", "05:00..09:00 x5 skipped catchup_window; 10:00 job; mark 10:00; runs 1; next 11:00"},
		{"catch-up with a job still active", tens, "mark 09:40; paused; active 7", "catchup 10:03", "09:50 skipped catchup_latest; 10:00 skipped overlap; mark 10:00; next 10:10"},
	})
}

func TestEdits(t *testing.T) {
	decisions(t, []decision{
		{"the past never fires under the new rule", "cron */5 * * * *", "mark 09:00", "begin 10:03", "mark 10:03; next 10:05"},
		{"a time that passed today comes tomorrow", "cron 0 9 * * *", "mark 09:50", "begin 10:03", "mark 10:03; next 03T09:00"},
		{"the present has passed", tens, "mark 09:50", "begin 10:00", "mark 10:00; next 10:10"},
		{"a paused schedule stays paused", tens, "mark 09:50; paused", "begin 10:03", "mark 10:03; next never; paused"},
		{"a completed schedule runs again", tens, "mark 09:50; completed; runs 4", "begin 10:03", "mark 10:03; runs 4; next 10:10"},
		{"a completed schedule without runs left stays completed", tens + "limit 4", "mark 09:50; completed; runs 4", "begin 10:03", "mark 10:03; runs 4; next never; completed"},
		{"after the clock went back the mark stays", tens, "mark 10:30", "begin 10:00", "mark 10:30; next 10:40"},
		{"with a job still active", tens, "mark 09:50; active 7; runs 1", "begin 10:03", "mark 10:03; runs 1; next 10:10"},
		{"a finish rule goes away", tens, "mark 09:50; finish 10:06", "begin 10:03", "mark 10:03; next 10:10"},
		{"all rules go away", "", "mark 09:50", "begin 10:03", "mark 10:03; next never"},
	})
}

func TestCalendars(t *testing.T) {
	decisions(t, []decision{
		{"open", tens + "blackout lunch", "mark 11:40", "fire 11:50", "11:50 job; mark 11:50; runs 1; next 12:00"},
		{"closed", tens + "blackout lunch", "mark 11:50", "fire 12:00", "12:00 skipped blackout; mark 12:00; next 12:10"},
		{"closed, nothing else", hourly + "within lunch", "mark 12:00", "fire 13:00", "13:00 skipped blackout; mark 13:00; next 14:00"},
		{"within", hourly + "within lunch", "mark 11:00", "fire 12:00", "12:00 job; mark 12:00; runs 1; next 13:00"},
		{"closed, with a job active", tens + "blackout lunch", "mark 11:50; active 7", "fire 12:00", "12:00 skipped blackout; mark 12:00; next 12:10"},
		{"closed is not a run", tens + "blackout lunch; limit 1", "mark 11:50", "fire 12:00", "12:00 skipped blackout; mark 12:00; next 12:10"},
		{"moved to when it opens", hourly + "blackout lunch; closed next_open", "mark 11:00", "fire 12:00", "12:00 due 13:00 job; mark 12:00; runs 1; next 13:00"},
		{"latest is the latest that may run", "cron 50 * * * *; blackout lunch; window 3h", "mark 10:50", "fire 13:00", "11:50 job; 12:50 skipped blackout; mark 12:50; runs 1; next 13:50"},
		{"a rule from the finish looks again", "after 5m; blackout lunch", "mark 11:50; finish 12:00", "fire 12:00", "12:00 skipped blackout; mark 12:00; finish 12:05; next 12:05"},
	})
}

// loop is a schedule with a store, reduced to the data that a decision reads and
// writes.
type loop struct {
	t      testing.TB
	s      Schedule
	plan   Plan
	facts  Facts
	jobs   int64
	starts []time.Time // nominal times with jobs
}

func newLoop(t testing.TB, schedule, now string) *loop {
	l := &loop{t: t}
	l.s, l.plan = scheduleOf(t, schedule)
	l.take(Begin(l.s, l.plan, Facts{}, at(now)))
	return l
}

func (l *loop) take(f Firing) {
	l.s.State, l.s.HighWater, l.s.NextAt, l.s.FinishAt, l.s.Runs = f.State, f.HighWater, f.NextAt, f.FinishAt, f.Runs
	for _, o := range f.Occurrences {
		if o.Decision == DecidedJob {
			l.jobs++
			l.facts.Active = append(l.facts.Active, l.jobs)
			l.starts = append(l.starts, o.Nominal)
		}
	}
}

func (l *loop) fire(now time.Time) { l.take(Fire(l.s, l.plan, l.facts, now)) }

func (l *loop) end(now time.Time) {
	l.facts.Active = nil
	l.take(Ended(l.s, l.plan, l.facts, now))
}

func (l *loop) pause(now time.Time) {
	l.s.State, l.s.NextAt, l.s.HighWater = Paused, time.Time{}, core.Later(l.s.HighWater, now)
}

func TestAHundredPausesLeaveOneLoop(t *testing.T) {
	t.Parallel()
	for _, schedule := range []string{tens, "after 10m"} {
		l := newLoop(t, schedule, "09:55")
		now := at("09:55")
		for range 100 {
			l.pause(now)
			l.take(Resume(l.s, l.plan, l.facts, now, false))
		}
		for now.Before(at("13:00")) {
			if !l.s.NextAt.After(now) {
				l.fire(now)
				l.end(now)
			}
			now = now.Add(time.Minute)
		}
		if n := len(l.starts); n < 17 || n > 19 {
			t.Errorf("%s: %d runs in three hours", schedule, n)
		}
	}
}

func TestTenThousandOccurrencesEachOnce(t *testing.T) {
	t.Parallel()
	l := newLoop(t, "every 5m; start 00:00", "00:00")
	want := at("00:00")
	for i := range 10_000 {
		if !l.s.NextAt.Equal(want) {
			t.Fatalf("run %d is planned for %s, want %s", i, in(l.s.NextAt), in(want))
		}
		now := want.Add(time.Duration(i%1000) * time.Millisecond)
		l.fire(now)
		l.fire(now) // the second node
		if len(l.starts) != i+1 || !l.starts[i].Equal(want) {
			t.Fatalf("%d runs after %s", len(l.starts), in(want))
		}
		l.end(now.Add(time.Second))
		want = want.Add(5 * time.Minute)
	}
}

func TestAClockOneHourBackFiresNothingTwiceAndGoesOn(t *testing.T) {
	t.Parallel()
	for _, schedule := range []string{tens, "after 10m", tens + "after 7m"} {
		l := newLoop(t, schedule, "09:00")
		walk := func(from, to string) {
			for now := at(from); now.Before(at(to)); now = now.Add(time.Second) {
				if !l.s.NextAt.IsZero() && !l.s.NextAt.After(now) {
					l.fire(now)
					l.end(now)
				}
			}
		}
		walk("09:00", "10:00")
		before := len(l.starts)
		walk("09:00", "12:00")
		seen := map[time.Time]bool{}
		for _, s := range l.starts {
			if seen[s] {
				t.Errorf("%s: %s ran twice", schedule, in(s))
			}
			seen[s] = true
		}
		if got := len(l.starts) - before; got < 11 {
			t.Errorf("%s: %d runs in the two hours after, it stalled", schedule, got)
		}
	}
}

func TestJitterIsTheSameEachTimeAndSmallerThanTheGap(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		schedule string
		most     time.Duration
	}{
		{tens + "jitter 30s", 30 * time.Second},
		{tens + "jitter 1h", 10 * time.Minute},
		{"after 5m; jitter 1h", time.Hour},
	} {
		s, plan := scheduleOf(t, row.schedule)
		s.State, s.HighWater = Active, at("00:00")
		var last time.Time
		spreads := map[time.Duration]bool{}
		for now := at("00:10"); now.Before(at("04T00:00")); now = now.Add(10 * time.Minute) {
			if plan.Finish > 0 {
				s.FinishAt = now
			}
			f := Fire(s, plan, Facts{}, now)
			late := Fire(s, plan, Facts{}, now.Add(7*time.Second))
			o := f.Occurrences[0]
			if !o.DueAt.Equal(late.Occurrences[0].DueAt) {
				t.Fatalf("%s: due %s, asked again %s", row.schedule, in(o.DueAt), in(late.Occurrences[0].DueAt))
			}
			jitter := o.DueAt.Sub(o.Nominal)
			if jitter < 0 || jitter >= row.most || jitter%time.Microsecond != 0 {
				t.Fatalf("%s: jitter %s of %s", row.schedule, jitter, row.most)
			}
			if plan.Finish == 0 && !o.DueAt.After(last) {
				t.Fatalf("%s: due %s after %s", row.schedule, in(o.DueAt), in(last))
			}
			last, spreads[jitter] = o.DueAt, true
			s.HighWater = f.HighWater
		}
		if len(spreads) < 280 {
			t.Errorf("%s: only %d different starts", row.schedule, len(spreads))
		}
	}
}

func TestTheBlockerIsNamed(t *testing.T) {
	t.Parallel()
	s, plan := scheduleOf(t, tens+"catchup all")
	f := factsOf(t, &s, "mark 09:40; active 7 8")
	for _, o := range Fire(s, plan, f, at("10:00")).Occurrences {
		if o.Note != "job 7" {
			t.Errorf("note %q does not name the oldest job in the way", o.Note)
		}
	}
	got := Fire(s, plan, Facts{}, at("10:00")).Occurrences[1]
	if got.Note != "another run of the same catch-up" {
		t.Errorf("note %q", got.Note)
	}
}

func TestUpcomingTimes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		schedule, from string
		n              int
		want           string
	}{
		{tens, "10:00", 3, "10:10 10:20 10:30 "},
		{tens + "start 11:00; end 11:10", "10:00", 5, "11:00 11:10 "},
		{"at 10:00 09:00", "08:00", 5, "09:00 10:00 "},
		{"after 5m", "08:00", 5, ""},
		{"", "08:00", 5, ""},
		{tens, "10:00", 0, ""},
	} {
		s, plan := scheduleOf(t, row.schedule)
		var got string
		for _, at := range s.Upcoming(plan, at(row.from), row.n) {
			got += in(at) + " "
		}
		if got != row.want {
			t.Errorf("%s from %s: %s, want %s", row.schedule, row.from, got, row.want)
		}
	}
}
