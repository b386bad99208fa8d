package reach

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/task"
)

func TestLateChecksGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hostLimiter{limit: 1}
		leave, err := h.enter(t.Context(), "shop:443", false)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var all sync.WaitGroup
		for _, name := range []string{"a", "b", "late"} {
			h.note(task.Task{Name: name}, name == "late")
			all.Go(func() {
				leave, err := h.enter(t.Context(), "shop:443", h.wasLate(task.Task{Name: name}))
				if err != nil {
					t.Error(err)
				}
				order = append(order, name) // one at a time
				leave()
			})
			synctest.Wait()
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.enter(short, "shop:443", true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one that waits no longer: %v", err)
		}
		leave()
		all.Wait()
		if want := []string{"late", "a", "b"}; !slices.Equal(order, want) {
			t.Errorf("turns in the order %v, want %v", order, want)
		}
		if len(h.open) != 0 {
			t.Errorf("%d hosts are kept that are not in use", len(h.open))
		}
	})
}
