package postgres_test

import (
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/postgres"
)

// A claim that waits for the lock of its queue is of the moment at which it got its
// jobs, some of which were made while it waited.
func TestAClaimThatWaitedForALockIsOfItsEnd(t *testing.T) {
	t.Parallel()
	for name, queues := range map[string]map[string]int{
		"of one queue":  {"default": 5},
		"of two queues": {"default": 5, "system": 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			ctx := t.Context()
			if _, err := st.SaveQueue(ctx, job.Queue{Name: "default", Concurrency: 5, GlobalLimit: 5}); err != nil {
				t.Fatal(err)
			}
			session := worker(t, st, "t")
			tx, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(ctx) //nolint:errcheck // it was committed, or the test has failed
			if _, err := tx.Exec(ctx, `select name from belfry.queues where name = 'default' for update`); err != nil {
				t.Fatal(err)
			}
			got := make(chan job.Claim, 1)
			go func() {
				c, err := st.Claim(ctx, job.ClaimRequest{Session: session, Want: queues})
				if err != nil {
					t.Error(err)
				}
				got <- c
			}()
			for number(t, st, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 0 {
				if ctx.Err() != nil {
					t.Fatal("the claim does not wait")
				}
			}
			enqueue(t, st, "t")
			free := number(t, st, "select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			c := <-got
			if len(c.Jobs) != 1 {
				t.Fatalf("claimed %d", len(c.Jobs))
			}
			j := c.Jobs[0].Job
			if j.ClaimedAt.Before(j.CreatedAt) || j.ClaimedAt.Before(j.DueAt) || j.ClaimedAt.UnixMicro() < free {
				t.Errorf("made at %s, due at %s, free since %d, and claimed at %s", j.CreatedAt, j.DueAt, free, j.ClaimedAt)
			}
			if want := j.ClaimedAt.Add(j.Timeout.D() + job.DeadlineGrace); !j.DeadlineAt.Equal(want) {
				t.Errorf("its deadline is %s, want %s", j.DeadlineAt, want)
			}
			if claimed, ends := number(t, st, `select claimed_at from belfry.leases`), number(t, st, `select deadline_at from belfry.leases`); claimed != j.ClaimedAt.UnixMicro() || ends != j.DeadlineAt.UnixMicro() {
				t.Errorf("the record says %d and %d", claimed, ends)
			}
		})
	}
}
