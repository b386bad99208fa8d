package monitor

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/belfry-run/belfry/task"
)

// Recent is the last outcomes of a monitor, newest in the lowest bit: set for
// a failure, or for a turn. It holds up to 21.
type Recent struct {
	Bits  uint32 `json:"bits,omitempty"`
	Count int    `json:"count,omitempty"`
}

const recentMax = 21

// With is the same with one more outcome.
func (r Recent) With(set bool) Recent {
	r.Bits = r.Bits << 1 & (1<<recentMax - 1)
	if set {
		r.Bits |= 1
	}
	r.Count = min(max(r.Count, 0)+1, recentMax)
	return r
}

// Among is how many of the last n are set.
func (r Recent) Among(n int) int { return bits.OnesCount32(r.Bits & (1<<min(n, recentMax) - 1)) }

// Full reports whether there are enough outcomes to say whether it flaps.
// With fewer, the two changes of one short outage would be a lot.
func (r Recent) Full() bool { return r.Count >= recentMax }

// Changes is how often the outcome changed from one check to the next, in per
// cent of how often it could have. The newest change weighs 1.2 and the oldest
// 0.8, in even steps between.
func (r Recent) Changes() float64 {
	n := min(r.Count, recentMax) - 1
	if n < 1 {
		return 0
	}
	changed := (r.Bits ^ r.Bits>>1) & (1<<n - 1)
	if n == 1 {
		return float64(100 * bits.OnesCount32(changed))
	}
	var sum, all float64
	for i := range n { // from the newest
		weight := 1.2 - 0.4*float64(i)/float64(n-1)
		all += weight
		if changed>>i&1 == 1 {
			sum += weight
		}
	}
	return 100 * sum / all
}

// Baseline is the mean and spread of latencies, weighed so that the newest
// hundred or so count.
type Baseline struct {
	Samples  int     `json:"samples,omitempty"`
	Mean     float64 `json:"mean,omitempty"`     // microseconds
	Variance float64 `json:"variance,omitempty"` // microseconds squared
}

const (
	baselineMemory = 100  // samples
	baselineFloor  = 0.05 // of the mean: a target that never varies is not slow for a microsecond more
)

// With is the same with one more latency.
func (b Baseline) With(latency time.Duration) Baseline {
	b.Samples = min(b.Samples+1, 1000)
	weight := 1 / float64(min(b.Samples, baselineMemory))
	diff := float64(latency)/float64(time.Microsecond) - b.Mean
	b.Mean += weight * diff
	b.Variance = (1 - weight) * (b.Variance + weight*diff*diff)
	return b
}

// Limit is the latency above which a check is slow: so many standard
// deviations above the mean.
func (b Baseline) Limit(sigma float64) time.Duration {
	spread := max(math.Sqrt(b.Variance), b.Mean*baselineFloor)
	return time.Duration((b.Mean + sigma*spread) * float64(time.Microsecond))
}

// Stretch is a part of the timeline in two layers: what is held of the target,
// and what lies over it. The verdict may be dated back under a maintenance or a
// gap without a word about either.
type Stretch struct {
	From  time.Time      `json:"from"`
	Held  SpanState      `json:"held" enum:"up,down,unknown"`
	Over  SpanState      `json:"over,omitempty" enum:"paused,maintenance,unknown"`
	Cause task.CheckCode `json:"cause,omitempty"`
}

// tailMax bounds what is kept of the timeline to be told otherwise. It is
// reached when a target fails again and again through many windows and gaps
// without ever being confirmed as down; what is older then stays as it was.
const tailMax = 32

// stretches is the end of a timeline, sorted.
type stretches []Stretch

// cut makes a stretch begin at t, which is moved to the first one if it lies
// before, and says which.
func (l *stretches) cut(t time.Time) int {
	if len(*l) == 0 {
		*l = append(*l, Stretch{From: t, Held: SpanUnknown})
		return 0
	}
	i := len(*l)
	for i > 0 && (*l)[i-1].From.After(t) {
		i--
	}
	if i == 0 || (*l)[i-1].From.Equal(t) {
		return max(i-1, 0)
	}
	part := (*l)[i-1]
	part.From = t
	*l = slices.Insert(*l, i, part)
	return i
}

// hold says what is held of the target from t on.
func (l *stretches) hold(t time.Time, held SpanState, cause task.CheckCode) {
	for i := l.cut(t); i < len(*l); i++ {
		(*l)[i].Held, (*l)[i].Cause = held, cause
	}
}

// cover lays something over all from t on, or nothing.
func (l *stretches) cover(t time.Time, over SpanState) {
	for i := l.cut(t); i < len(*l); i++ {
		(*l)[i].Over = over
	}
}

// gap says that nothing was seen in [from, to), where nothing else is said.
func (l *stretches) gap(from, to time.Time) {
	if !from.Before(to) {
		return
	}
	l.cut(from)
	end := l.cut(to)
	for i := l.cut(from); i < end; i++ {
		if (*l)[i].Over == "" {
			(*l)[i].Over = SpanUnknown
		}
	}
}

// at is the stretch that holds at t.
func (l stretches) at(t time.Time) Stretch {
	var found Stretch
	for _, s := range l {
		if s.From.After(t) {
			break
		}
		found = s
	}
	return found
}

// spans is the timeline as it is told: the upper layer, where there is one.
func (l stretches) spans() (out []Span) {
	for _, s := range l {
		next := Span{From: s.From, State: s.Held, Cause: s.Cause}
		if s.Over != "" {
			next.State = s.Over
		}
		if next.State != SpanDown {
			next.Cause = ""
		}
		if n := len(out); n == 0 || out[n-1].State != next.State || out[n-1].Cause != next.Cause {
			out = append(out, next)
		}
	}
	return out
}

// since drops what ended before t, and what is too much. The stretch before
// is kept, so that one that becomes like it is not told as another; it begins
// where it was told to begin.
func (l stretches) since(t time.Time) stretches {
	first := 0
	for first+2 < len(l) && !l[first+2].From.After(t) {
		first++
	}
	first = max(first, len(l)-tailMax)
	if first > 0 {
		notified := l[:first+1].spans()
		l[first].From = notified[len(notified)-1].From
	}
	merged := make(stretches, 0, len(l)-first)
	for _, s := range l[first:] {
		if n := len(merged); n == 0 || merged[n-1].Held != s.Held || merged[n-1].Over != s.Over || merged[n-1].Cause != s.Cause {
			merged = append(merged, s)
		}
	}
	return merged
}

// retold is what is to be written so that a timeline that ends in before ends
// in after. It replaces all from its first entry on, so where an
// entry only vanishes the one before it is told again.
func retold(before, after []Span) []Span {
	same := 0
	for same < len(before) && same < len(after) && before[same] == after[same] {
		same++
	}
	if same == len(before) && same == len(after) {
		return nil
	}
	vanishes := same < len(before) && (same == len(after) || after[same].From.After(before[same].From))
	if vanishes && same > 0 {
		same--
	}
	return after[same:]
}
