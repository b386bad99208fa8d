package base

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
	h := NewHub()
	first := h.On(TopicQueue("first"))
	for i := range maxBells {
		h.On(TopicQueue(strconv.Itoa(i)))
	}
	if n := len(h.Topics); n > maxBells {
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
	h, topic := NewHub(), TopicQueue("q")
	for i := range 1000 {
		w := h.Wait(h.Bell(topic), job.ClaimRequest{}, Nothing{})
		var taken, left, rung bool
		var all sync.WaitGroup
		all.Go(func() { taken = h.Take(w) })
		all.Go(func() { left = h.Leave(w) })
		if i%2 == 0 {
			all.Go(func() { rung = h.Wake(topic) > 0 })
		}
		all.Wait()
		if taken == left {
			t.Fatalf("taken: %t, left by itself: %t, rung: %t", taken, left, rung)
		}
	}
	w := h.Wait(h.Bell(topic), job.ClaimRequest{}, Nothing{})
	if h.Waiting(topic, 0) != w || !h.Take(w) || h.Take(w) || h.Waiting(topic, 0) != nil {
		t.Error("it is not taken once")
	}
	w = h.Wait(h.Bell(topic), job.ClaimRequest{}, Nothing{})
	if n := h.Wake(topic); n != 1 || h.Take(w) || !h.Leave(w) {
		t.Errorf("%d were woken, and one that was is taken", n)
	}
}

func TestAClaimThatWasTakenDoesNotHangWithAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHub()
		w := h.Wait(h.Bell("q"), job.ClaimRequest{}, Nothing{})
		h.Take(w)
		began := time.Now()
		if a := w.Soon(); len(a.Jobs) > 0 || time.Since(began) != takenPatience {
			t.Errorf("%+v after %s", a, time.Since(began))
		}
		w.Answer <- Answer{} // whoever took it does not hang either
	})
}
