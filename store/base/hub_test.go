package base

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/job"
)

func TestTopicsAreBoundedAndADroppedTopicIsWoken(t *testing.T) {
	t.Parallel()
	h := NewHub()
	first := h.On(TopicQueue("first"))
	for i := range maxTopics {
		h.On(TopicQueue(strconv.Itoa(i)))
	}
	if n := len(h.Topics); n > maxTopics {
		t.Errorf("got %d topics, want at most %d", n, maxTopics)
	}
	select {
	case <-first:
	default:
		t.Error("the first topic was dropped without a wake-up")
	}
}

func TestAClaimThatWaitsIsTakenByOne(t *testing.T) {
	t.Parallel()
	h, topic := NewHub(), TopicQueue("q")
	for i := range 1000 {
		w := h.Wait(h.Topic(topic), job.ClaimRequest{}, Nothing{})
		var taken, left, woken bool
		var all sync.WaitGroup
		all.Go(func() { taken = h.Take(w) })
		all.Go(func() { left = h.Leave(w) })
		if i%2 == 0 {
			all.Go(func() { woken = h.Wake(topic) > 0 })
		}
		all.Wait()
		if taken == left {
			t.Fatalf("got taken %t and left %t (woken %t), want exactly one of taken and left", taken, left, woken)
		}
	}
	w := h.Wait(h.Topic(topic), job.ClaimRequest{}, Nothing{})
	if h.Waiting(topic, 0) != w || !h.Take(w) || h.Take(w) || h.Waiting(topic, 0) != nil {
		t.Error("the waiting claim was not taken exactly once")
	}
	w = h.Wait(h.Topic(topic), job.ClaimRequest{}, Nothing{})
	if n := h.Wake(topic); n != 1 || h.Take(w) || !h.Leave(w) {
		t.Errorf("got %d woken claims, want 1, which cannot be taken any more", n)
	}
}

func TestAClaimThatWasTakenDoesNotHangWithAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHub()
		w := h.Wait(h.Topic("q"), job.ClaimRequest{}, Nothing{})
		h.Take(w)
		began := time.Now()
		if a := w.Soon(); len(a.Jobs) > 0 || time.Since(began) != takenPatience {
			t.Errorf("got answer %+v after %s, want an empty one after %s", a, time.Since(began), takenPatience)
		}
		w.Answer <- Answer{} // a late answer does not block its sender
	})
}
