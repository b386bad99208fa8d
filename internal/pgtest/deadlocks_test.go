package pgtest

import "testing"

func TestDeadlocksAreCounted(t *testing.T) {
	t.Parallel()
	s := NewServer(t, Options{})
	url := s.New(t)
	ring := func() {
		a, b := connect(t, url), connect(t, url)
		run(t, a, "create table if not exists rooms (n int); delete from rooms; insert into rooms values (1), (2)")
		run(t, a, "begin; set local deadlock_timeout = '1h'; update rooms set n = n where n = 1")
		run(t, b, "begin; set local deadlock_timeout = '10ms'; update rooms set n = n where n = 2")
		other := make(chan error, 1)
		go func() {
			_, err := a.Exec(t.Context(), "update rooms set n = n where n = 2")
			other <- err
		}()
		if _, err := b.Exec(t.Context(), "update rooms set n = n where n = 1"); err == nil {
			run(t, b, "commit") // the first of the two, so that the other continues
		}
		if err := <-other; err != nil {
			t.Error(err)
		}
		run(t, a, "rollback")
		run(t, b, "rollback")
	}
	for Deadlocks(s) == 0 {
		ring()
	}
	if n, err := deadlocks(t.Context(), url); err != nil || n == 0 {
		t.Errorf("deadlocks: got %d, error %v", n, err)
	}
}
