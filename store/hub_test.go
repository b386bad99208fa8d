package store

import (
	"strconv"
	"testing"
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
