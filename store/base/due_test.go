package base

import (
	"testing"
	"time"
)

// passes makes passes for due schedules with one mark. Instants are in seconds.
type passes struct {
	*testing.T
	mark DueMark
}

func second(n int64) time.Time { return time.Unix(n, 0) }

// look is a pass, slow if it looked everywhere. The first schedule that it leaves is due at next.
func (p *passes) look(now, next int64) dueFrom {
	from := p.mark.begin(second(now))
	from.Took = time.Hour
	p.mark.rise(from, Micros(second(next)), second(now))
	return from
}

func (p *passes) want(from dueFrom, after int64) {
	p.Helper()
	if from.everywhere || from.After != after {
		p.Fatalf("a pass begins at %+v, want after %d", from, after)
	}
}

func TestAPassBeginsWhereTheOneBeforeSawNothingDueAnyMore(t *testing.T) {
	p := &passes{T: t}
	if from := p.look(100, 160); !from.everywhere || from.After != 0 {
		t.Fatalf("first pass: begins at %+v, want everywhere", from)
	}
	p.want(p.look(110, 160), Micros(second(100))-1)
	p.want(p.look(170, 160), Micros(second(110))-1)
	// A schedule was left, because another transaction had locked it: it keeps the mark before it.
	p.want(p.look(180, 190), Micros(second(160))-1)
	p.want(p.look(181, 190), Micros(second(180))-1)
}

func TestAFastLookIsRepeatedInEachPass(t *testing.T) {
	var m DueMark
	for now := range int64(3) {
		from := m.begin(second(100 + now))
		if !from.everywhere {
			t.Fatalf("pass %d: begins at %+v, want everywhere", now, from)
		}
		m.rise(from, 0, second(100+now))
	}
}

func TestTheRoundTripDoesNotMakeALookSlow(t *testing.T) {
	p := &passes{T: t}
	for now := range int64(3) {
		from := p.mark.begin(second(100 + now))
		if !from.everywhere {
			t.Fatalf("pass %d: begins at %+v, want everywhere", now, from)
		}
		from.trip, from.Took = 200*time.Millisecond, 404*time.Millisecond
		p.mark.rise(from, 0, second(100+now))
	}
}

func TestALookEverywhereIsNotPutOffForLong(t *testing.T) {
	for took, rest := range map[time.Duration]time.Duration{
		5 * time.Millisecond:   500 * time.Millisecond,
		200 * time.Millisecond: 5 * time.Second,
		2 * time.Second:        20 * time.Second,
		-time.Second:           -100 * time.Second,
	} {
		if got := LookRest(took); got != rest {
			t.Errorf("delay after a look of %s: got %s, want %s", took, got, rest)
		}
	}
}

func TestTheMarkFallsWhenAScheduleBecomesDueBeforeIt(t *testing.T) {
	p := &passes{T: t}
	p.look(100, 160)
	under := p.mark.begin(second(101)) // sees nothing of what comes next
	p.mark.Lower(second(50))
	p.mark.rise(under, 0, second(101))
	p.want(p.look(102, 160), Micros(second(50))-1)

	p.mark.Lower(second(1000)) // at an instant after the mark
	p.mark.Lower(time.Time{})  // never
	p.want(p.look(103, 160), Micros(second(102))-1)
}

func TestTheMarkFallsWhenTheClockIsSetBack(t *testing.T) {
	p := &passes{T: t}
	p.look(100, 160)
	p.want(p.look(40, 45), 0)
	p.want(p.look(41, 45), Micros(second(40))-1)
}

func TestTheMarkIsForgottenWhenAClockIsFollowed(t *testing.T) {
	p := &passes{T: t}
	p.look(100, 160)
	under := p.mark.begin(second(101))
	p.mark.Drain()
	p.mark.rise(under, 0, second(101))
	p.want(p.look(102, 160), 0)
}
