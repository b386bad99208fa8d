package monitor

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/belfry-run/belfry/task"
)

// Recent holds up to 21 outcomes of a monitor, newest in the lowest bit. A bit is
// set for a failure, or for a change between down and up.
type Recent struct {
	Bits  uint32 `json:"bits,omitempty"`
	Count int    `json:"count,omitempty"`
}

const recentMax = 21

// With returns r with one more outcome.
func (r Recent) With(set bool) Recent {
	r.Bits = r.Bits << 1 & (1<<recentMax - 1)
	if set {
		r.Bits |= 1
	}
	r.Count = min(max(r.Count, 0)+1, recentMax)
	return r
}

// Among returns how many of the last n bits are set.
func (r Recent) Among(n int) int { return bits.OnesCount32(r.Bits & (1<<min(n, recentMax) - 1)) }

// Full reports whether there are enough outcomes to judge flapping. With fewer,
// the two changes of one short outage would weigh too much.
func (r Recent) Full() bool { return r.Count >= recentMax }

// Changes returns the weighted share of changes between successive outcomes, in
// percent. The newest change weighs 1.2 and the oldest 0.8, in even steps
// between.
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
	for i := range n { // newest first
		weight := 1.2 - 0.4*float64(i)/float64(n-1)
		all += weight
		if changed>>i&1 == 1 {
			sum += weight
		}
	}
	return 100 * sum / all
}

// Baseline is the mean and variance of latencies, weighed so that about the newest
// hundred count.
type Baseline struct {
	Samples  int     `json:"samples,omitempty"`
	Mean     float64 `json:"mean,omitempty"`     // microseconds
	Variance float64 `json:"variance,omitempty"` // microseconds squared
}

const (
	baselineMemory = 100  // samples
	baselineFloor  = 0.05 // of the mean: a target that never varies is not slow for a microsecond more
)

// With returns b with one more latency.
func (b Baseline) With(latency time.Duration) Baseline {
	b.Samples = min(b.Samples+1, 1000)
	weight := 1 / float64(min(b.Samples, baselineMemory))
	diff := float64(latency)/float64(time.Microsecond) - b.Mean
	b.Mean += weight * diff
	b.Variance = (1 - weight) * (b.Variance + weight*diff*diff)
	return b
}

// Limit returns the latency above which a check is slow: sigma standard deviations
// above the mean.
func (b Baseline) Limit(sigma float64) time.Duration {
	spread := max(math.Sqrt(b.Variance), b.Mean*baselineFloor)
	return time.Duration((b.Mean + sigma*spread) * float64(time.Microsecond))
}

// Stretch is a part of the timeline in two layers: the verdict on the target, and
// a pause, maintenance or gap that covers it. So the verdict can be backdated
// under maintenance or a gap without changing these.
type Stretch struct {
	From  time.Time      `json:"from"`
	Held  SpanState      `json:"held" enum:"up,down,unknown"`
	Over  SpanState      `json:"over,omitempty" enum:"paused,maintenance,unknown"`
	Cause task.CheckCode `json:"cause,omitempty"`
}

// tailMax is the most stretches that can still change. It is reached if a target
// fails again and again through many windows and gaps without being confirmed as
// down; older stretches then stay as they are.
const tailMax = 32

// stretches is the end of a timeline, sorted.
type stretches []Stretch

// splitAt makes a stretch begin at t, or at the first stretch if that is later, and
// returns its index.
func (l *stretches) splitAt(t time.Time) int {
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

// setVerdict sets the verdict on the target from t on.
func (l *stretches) setVerdict(t time.Time, held SpanState, cause task.CheckCode) {
	for i := l.splitAt(t); i < len(*l); i++ {
		(*l)[i].Held, (*l)[i].Cause = held, cause
	}
}

// setOverlay sets the upper layer from t on; "" removes it.
func (l *stretches) setOverlay(t time.Time, over SpanState) {
	for i := l.splitAt(t); i < len(*l); i++ {
		(*l)[i].Over = over
	}
}

// markGap marks [from, to) as unknown, where no other upper layer is set.
func (l *stretches) markGap(from, to time.Time) {
	if !from.Before(to) {
		return
	}
	l.splitAt(from)
	end := l.splitAt(to)
	for i := l.splitAt(from); i < end; i++ {
		if (*l)[i].Over == "" {
			(*l)[i].Over = SpanUnknown
		}
	}
}

// at returns the stretch at t.
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

// spans returns the visible timeline: the upper layer where it is set.
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

// since drops stretches that ended before t or exceed [tailMax]. It keeps the last
// dropped stretch with its recorded start, so that an equal one after it adds no
// new entry.
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

// changedSpans returns the entries to write so that a timeline that ends in before ends
// in after. They replace all entries from their first one on. So if an entry only
// vanishes, the one before it is written again.
func changedSpans(before, after []Span) []Span {
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
