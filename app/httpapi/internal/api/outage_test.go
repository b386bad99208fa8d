package api

import (
	"fmt"
	"testing"
	"time"
)

func TestAnOutageIsLoggedNowAndThen(t *testing.T) {
	var o outage
	begun := time.Now()
	for _, c := range []struct {
		after time.Duration
		err   string
		say   bool
		more  int
	}{
		{0, "away", true, 0}, {time.Second, "away", false, 0}, {2 * time.Second, "full", true, 0}, {9 * time.Second, "away", false, 0},
		{10 * time.Second, "away", true, 2}, {11 * time.Second, "away", false, 0}, {12 * time.Second, "full", true, 0}, {time.Hour, "away", true, 1},
	} {
		if say, more := o.failed(c.err, begun.Add(c.after)); say != c.say || more != c.more {
			t.Errorf("%+v: got log %t, %d more", c, say, more)
		}
	}
	for i := range 1000 {
		o.failed(fmt.Sprint("error ", i), begun)
	}
	if len(o.seen) > mostErrors {
		t.Errorf("outage keeps %d errors, want at most %d", len(o.seen), mostErrors)
	}
}
