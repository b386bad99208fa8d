package postgres_test

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/store/postgres"
)

// Whoever settles a job locks its row and then removes its lease. To follow the
// clock is to change all leases: if it had theirs before the jobs', each would
// wait for the other.
func TestAFinishAndAClockShiftDoNotDeadlock(t *testing.T) {
	t.Parallel()
	st, claim := late(t)
	id := enqueue(t, st, "t")
	if got := claim(0); len(got) != 1 || got[0] != id {
		t.Fatalf("claimed %v, want %d", got, id)
	}
	pool := st.DB().(*postgres.DB).Pool()
	const hour = int64(time.Hour / time.Microsecond)
	for _, ahead := range []string{ // as they are once the clock was set back
		`update belfry.leases set claimed_at = claimed_at + $1, deadline_at = deadline_at + $1`,
		`update belfry.jobs set ready_at = ready_at + $1, turn = turn + $1`,
	} {
		if _, err := pool.Exec(t.Context(), ahead, hour); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // it is over by then, unless the test failed
	finish := func(sql string, args ...any) {
		t.Helper()
		if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	finish(`set local lock_timeout = '200ms'`) // before the server sees who waits for whom, and ends one of them
	finish(`select 1 from belfry.jobs where id = $1 for update`, id)
	followed := make(chan error, 1)
	go func() { followed <- st.ShiftClock(t.Context(), -time.Hour) }()
	for waits := false; !waits; {
		select {
		case err := <-followed:
			t.Fatalf("it did not wait for who has locked the job: %v", err)
		default:
		}
		if err := pool.QueryRow(t.Context(), `select exists (select from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database()))`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	finish(`delete from belfry.leases where job_id = $1`, id)
	finish(`rollback`)
	if err := <-followed; err != nil {
		t.Error(err)
	}
	var left bool
	if err := pool.QueryRow(t.Context(), `select exists (select from belfry.jobs where ready_at > $1) or exists (select from belfry.leases where claimed_at > $1)`, time.Now().Add(time.Minute).UnixMicro()).Scan(&left); err != nil || left {
		t.Errorf("some are as they were: %v, %v", left, err)
	}
}

// A busy machine answers late, at either end of the wait. That is no difference of clocks.
func TestAWaitForTheClockIsNoDifferenceOfClocks(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ took, theirs, want time.Duration }{
		{3 * time.Second, 0, 0},
		{3 * time.Second, 3 * time.Second, 0},
		{2 * time.Second, -time.Second, 2 * time.Second},
		{2 * time.Second, time.Minute, time.Second - time.Minute},
		{0, 2 * time.Second, -2 * time.Second},
		{2 * time.Millisecond, -time.Minute, time.Minute + time.Millisecond},
	} {
		if got := postgres.SkewOf(sent, sent.Add(c.took), sent.Add(c.theirs)); got != c.want {
			t.Errorf("answered after %s, their clock %s later than ours at the question: %s, want %s", c.took, c.theirs, got, c.want)
		}
	}
}
