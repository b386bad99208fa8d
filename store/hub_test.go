package store

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/job"
)

func TestTopicsAreBoundedAndNobodyWaitsForOneThatIsForgotten(t *testing.T) {
	t.Parallel()
	h := newHub()
	first := h.on(topicQueue("first"))
	for i := range maxBells {
		h.on(topicQueue(strconv.Itoa(i)))
	}
	if n := len(h.topics); n > maxBells {
		t.Errorf("%d topics are remembered", n)
	}
	select {
	case <-first:
	default:
		t.Error("who waited for the first is forgotten and was not woken")
	}
}

func TestAClaimThatWaitsIsTakenByOne(t *testing.T) {
	t.Parallel()
	h, topic := newHub(), topicQueue("q")
	for i := range 1000 {
		w := h.wait(h.bell(topic), job.ClaimRequest{}, nothing{})
		var taken, left, rung bool
		var all sync.WaitGroup
		all.Go(func() { taken = h.take(w) })
		all.Go(func() { left = h.leave(w) })
		if i%2 == 0 {
			all.Go(func() { rung = h.wake(topic) > 0 })
		}
		all.Wait()
		if taken == left {
			t.Fatalf("taken: %t, left by itself: %t, rung: %t", taken, left, rung)
		}
	}
	w := h.wait(h.bell(topic), job.ClaimRequest{}, nothing{})
	if h.waiting(topic, 0) != w || !h.take(w) || h.take(w) || h.waiting(topic, 0) != nil {
		t.Error("it is not taken once")
	}
	w = h.wait(h.bell(topic), job.ClaimRequest{}, nothing{})
	if n := h.wake(topic); n != 1 || h.take(w) || !h.leave(w) {
		t.Errorf("%d were woken, and one that was is taken", n)
	}
}

func TestAClaimThatWasTakenDoesNotHangWithAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		w := h.wait(h.bell("q"), job.ClaimRequest{}, nothing{})
		h.take(w)
		began := time.Now()
		if a := w.soon(); len(a.Jobs) > 0 || time.Since(began) != takenPatience {
			t.Errorf("%+v after %s", a, time.Since(began))
		}
		w.answer <- answer{} // whoever took it does not hang either
	})
}
