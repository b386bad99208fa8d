package marks

import (
	"testing"
	"time"
)

// A claim that was under way when a look back found a job before the mark has not seen that job: the next claim begins there.
func TestJobsThatALookBackFoundAreKept(t *testing.T) {
	t.Parallel()
	l, k, now := New(false), Key{Queue: "q"}, time.Now()
	l.Rise(Look{Key: k}, &Mark{Turn: 100, ID: 1}, true, now.UnixMicro(), time.Hour)
	if _, marked, lookBack := l.Begin(k, now); !marked || lookBack {
		t.Fatalf("just after a look: got marked %t and look back %t, want true and false", marked, lookBack)
	}
	l.marks[k].lookAgain = time.Time{}
	from, marked, lookBack := l.Begin(k, now)
	if !marked || !lookBack || !l.Turn(k) || l.Turn(k) {
		t.Fatalf("when a look is due: got marked %t and look back %t, want both, by one caller", marked, lookBack)
	}
	if _, _, again := l.Begin(k, now); again {
		t.Error("a second caller is asked to look back, want only one")
	}
	l.Looked(k, &Before{Turn: 50, ID: 7, Jobs: 3}, time.Hour)
	l.Rise(Look{Key: k, Marked: true, From: from, N: 9}, &Mark{Turn: 200, ID: 2}, true, now.UnixMicro(), time.Second)
	for _, left := range []Before{{Turn: 50, ID: 7, Jobs: 3}, {Turn: 50, ID: 9, Jobs: 1}} {
		from, _, _ = l.Begin(k, now)
		if from.Before == nil || *from.Before != left {
			t.Fatalf("jobs left before the mark: got %+v, want %+v", from.Before, left)
		}
		l.Rise(Look{Key: k, Marked: true, From: from, N: min(2, left.Jobs)}, &Mark{Turn: 50, ID: 8}, true, now.UnixMicro(), time.Second)
	}
	if from, _, _ = l.Begin(k, now); from.Before != nil || from.Turn != 200 {
		t.Errorf("the claim begins at %+v, want the mark at turn 200", from)
	}
	l.Close()
	if l.marks[k].lookAgain = (time.Time{}); l.Turn(k) {
		t.Error("a caller looks back after Close, want none")
	}
}

func TestAClaimMakesFastLooksItself(t *testing.T) {
	t.Parallel()
	l, k, now := New(false), Key{Queue: "q"}, time.Now()
	l.Rise(Look{Key: k}, &Mark{Turn: 100, ID: 1}, true, now.UnixMicro(), slowLook-1)
	l.marks[k].lookAgain = time.Time{}
	if _, marked, _ := l.Begin(k, now); marked {
		t.Error("a fast look was left to a look back, want the claim to look everywhere")
	}
}
