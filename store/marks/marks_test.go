package marks

import (
	"testing"
	"time"
)

// A claim that was under way when a job was found before its mark has not seen
// it: the next begins there.
func TestWhatALookBackFoundIsNotForgotten(t *testing.T) {
	t.Parallel()
	l, k, now := New(false), Key{Queue: "q"}, time.Now()
	l.Rise(Look{Key: k}, &Mark{Turn: 100, ID: 1}, true, now.UnixMicro(), time.Hour)
	if _, marked, lookBack := l.Begin(k, now); !marked || lookBack {
		t.Fatalf("marked %t, to look back %t, just after a look", marked, lookBack)
	}
	l.marks[k].lookAgain = time.Time{}
	from, marked, lookBack := l.Begin(k, now)
	if !marked || !lookBack || !l.Turn(k) || l.Turn(k) {
		t.Fatalf("marked %t, to look back %t, and by one", marked, lookBack)
	}
	if _, _, again := l.Begin(k, now); again {
		t.Error("a second is to look")
	}
	l.Looked(k, &Before{Turn: 50, ID: 7, Jobs: 3}, time.Hour)
	l.Rise(Look{Key: k, Marked: true, From: from, N: 9}, &Mark{Turn: 200, ID: 2}, true, now.UnixMicro(), time.Second)
	for _, left := range []Before{{Turn: 50, ID: 7, Jobs: 3}, {Turn: 50, ID: 9, Jobs: 1}} {
		from, _, _ = l.Begin(k, now)
		if from.Before == nil || *from.Before != left {
			t.Fatalf("%+v, and not %+v, is left of what was found", from.Before, left)
		}
		l.Rise(Look{Key: k, Marked: true, From: from, N: min(2, left.Jobs)}, &Mark{Turn: 50, ID: 8}, true, now.UnixMicro(), time.Second)
	}
	if from, _, _ = l.Begin(k, now); from.Before != nil || from.Turn != 200 {
		t.Errorf("%+v, and not the mark", from)
	}
	l.Close()
	if l.marks[k].lookAgain = (time.Time{}); l.Turn(k) {
		t.Error("somebody looks back in a store that was closed")
	}
}

func TestALookThatIsNotDearIsTheClaimsOwn(t *testing.T) {
	t.Parallel()
	l, k, now := New(false), Key{Queue: "q"}, time.Now()
	l.Rise(Look{Key: k}, &Mark{Turn: 100, ID: 1}, true, now.UnixMicro(), slowLook-1)
	l.marks[k].lookAgain = time.Time{}
	if _, marked, _ := l.Begin(k, now); marked {
		t.Error("it is left to somebody else")
	}
}
