package jobs

import (
	"testing"
	"time"
)

// A claim that was under way when a job was found before its mark has not seen
// it: the next begins there.
func TestWhatALookBackFoundIsNotForgotten(t *testing.T) {
	t.Parallel()
	l, k, now := newLowWater(false), waterKey{queue: "q"}, time.Now()
	l.rise(picking{key: k}, &mark{readyAt: 100, id: 1}, true, now, time.Hour)
	if _, marked, lookBack := l.begin(k, now); !marked || lookBack {
		t.Fatalf("marked %t, to look back %t, just after a look", marked, lookBack)
	}
	l.marks[k].lookAgain = time.Time{}
	from, marked, lookBack := l.begin(k, now)
	if !marked || !lookBack || !l.look(k) || l.look(k) {
		t.Fatalf("marked %t, to look back %t, and by one", marked, lookBack)
	}
	if _, _, again := l.begin(k, now); again {
		t.Error("a second is to look")
	}
	l.looked(k, &before{readyAt: 50, id: 7, jobs: 3}, time.Hour)
	l.rise(picking{key: k, marked: true, from: from, n: 9}, &mark{readyAt: 200, id: 2}, true, now, time.Second)
	for _, left := range []before{{readyAt: 50, id: 7, jobs: 3}, {readyAt: 50, id: 9, jobs: 1}} {
		from, _, _ = l.begin(k, now)
		if from.before == nil || *from.before != left {
			t.Fatalf("%+v, and not %+v, is left of what was found", from.before, left)
		}
		l.rise(picking{key: k, marked: true, from: from, n: min(2, left.jobs)}, &mark{readyAt: 50, id: 8}, true, now, time.Second)
	}
	if from, _, _ = l.begin(k, now); from.before != nil || from.readyAt != 200 {
		t.Errorf("%+v, and not the mark", from)
	}
	l.close()
	if l.marks[k].lookAgain = (time.Time{}); l.look(k) {
		t.Error("somebody looks back in a store that was closed")
	}
}

func TestALookThatIsNotDearIsTheClaimsOwn(t *testing.T) {
	t.Parallel()
	l, k, now := newLowWater(false), waterKey{queue: "q"}, time.Now()
	l.rise(picking{key: k}, &mark{readyAt: 100, id: 1}, true, now, slowLook-1)
	l.marks[k].lookAgain = time.Time{}
	if _, marked, _ := l.begin(k, now); marked {
		t.Error("it is left to somebody else")
	}
}
