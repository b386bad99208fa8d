package memory

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
)

func TestRequestsOfOneHolderLeaveMemoryToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		var gives []func()
		take := func(name string, n int64) error {
			give, err := m.Take(t.Context(), name, n)
			if err == nil {
				gives = append(gives, give)
			}
			return err
		}
		const most = 4
		for range most {
			if err := take("namespace a", Most/4); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := take("namespace a", Most/4); core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "namespace a") || time.Since(began) != Wait {
			t.Errorf("one page beyond the share: got error %v after %s", err, time.Since(began))
		}
		for _, name := range []string{"namespace b", "namespace c", "namespace d"} {
			if err := take(name, 1<<40); err != nil { // a larger request takes the whole share of its namespace
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := take("namespace e", 1); core.CodeOf(err) != core.Unavailable {
			t.Errorf("a request beyond all memory: got error %v", err)
		}

		went := make(chan error)
		go func() { went <- take("namespace a", Most/4) }()
		synctest.Wait()
		gives[0]()
		if err := <-went; err != nil {
			t.Errorf("a request that waits for another: %v", err)
		}
		for _, give := range gives[1:] {
			give()
		}
		if len(m.of) != 0 {
			t.Errorf("holders without requests: %v", m.of)
		}
		if !m.all.TryAcquire(All) {
			t.Error("memory is taken without requests")
		}
	})
}
