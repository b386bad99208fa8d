package workers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

const (
	// lanesJobs bounds the jobs of a picture. With 100 a busy node's page stays
	// below its limit of bytes a minute.
	lanesJobs = 100
	// lanesMost bounds the lanes of a worker. Its other jobs are counted below them.
	lanesMost  = 12
	lanesWidth = 1000
	laneHeight = 14
)

// spans are how far back a picture may reach.
var spans = []time.Duration{time.Hour, 10 * time.Minute, time.Minute}

// lanes is a picture of the jobs of workers over time. Jobs at the same time lie in lanes, one below the other.
type lanes struct {
	From, To time.Time
	Partial  bool // jobs are left out: even in the shortest span there are more than the picture may have
	Workers  []workerLanes
}

// lanesPart is a picture with its page.
type lanesPart struct {
	Page  *page
	Lanes lanes
}

func lanesOn(p *page, l lanes) lanesPart { return lanesPart{p, l} }

// workerLanes are the lanes of one worker.
type workerLanes struct {
	Session, Name string
	Height        int
	Bars          []laneBar
	Jobs, Failed  int
	More          int // jobs without a free lane
}

// laneBar is a job of a lane.
type laneBar struct {
	X, Y, Wide  int
	Tone, Title string
}

var stateTones = map[job.State]string{job.Running: "busy", job.Succeeded: "good", job.Failed: "bad", job.Canceled: "idle", job.Skipped: "idle"}

// newLanes draws jobs, the newest first, as of now. If there are more jobs than given, it reaches back only to the oldest of
// these. The end is rounded to a sixtieth of the span: an unchanged picture then stays the same between live updates, and is
// not sent again.
func newLanes(workers []job.WorkerState, found core.Page[job.Job], now time.Time) lanes {
	full := found.Next != ""
	span := spans[0]
	if full {
		oldest := slices.MinFunc(found.Items, func(a, b job.Job) int { return a.CreatedAt.Compare(b.CreatedAt) }).CreatedAt
		i := slices.IndexFunc(spans, func(s time.Duration) bool { return now.Add(-s).After(oldest) })
		if i < 0 {
			i = len(spans) - 1
		}
		span = spans[i]
	}
	step := span / 60
	l := lanes{To: now.Truncate(step).Add(step)}
	l.From = l.To.Add(-span)
	if full {
		l.Partial = !slices.ContainsFunc(found.Items, func(j job.Job) bool { return j.CreatedAt.Before(l.From) })
	}
	bySession := map[string][]job.Job{}
	for _, j := range found.Items {
		if j.Session != "" && !j.ClaimedAt.IsZero() && (j.FinishedAt.IsZero() || j.FinishedAt.After(l.From)) {
			bySession[j.Session] = append(bySession[j.Session], j)
		}
	}
	for _, w := range workers {
		if jobs := bySession[w.Session]; len(jobs) > 0 {
			l.Workers = append(l.Workers, l.worker(w, jobs, now))
		}
	}
	return l
}

// worker gives each job, in order of start, the first free lane.
func (l lanes) worker(w job.WorkerState, jobs []job.Job, now time.Time) workerLanes {
	slices.SortFunc(jobs, func(a, b job.Job) int {
		return cmp.Or(a.ClaimedAt.Compare(b.ClaimedAt), cmp.Compare(a.ID, b.ID))
	})
	d := workerLanes{Session: w.Session, Name: w.Name, Jobs: len(jobs)}
	var free []int // the time from which each lane is free
	for _, j := range jobs {
		end, text := j.FinishedAt, parts.Words(string(j.State))
		if end.IsZero() {
			end = now
		}
		if j.State == job.Failed {
			d.Failed++
		}
		x := l.x(j.ClaimedAt)
		wide := max(4, l.x(end)-x)
		lane := slices.IndexFunc(free, func(from int) bool { return from <= x })
		if lane < 0 {
			if len(free) == lanesMost {
				d.More++
				continue
			}
			lane, free = len(free), append(free, 0)
		}
		free[lane] = x + wide
		d.Bars = append(d.Bars, laneBar{X: x, Y: lane * laneHeight, Wide: wide, Tone: stateTones[j.State],
			Title: fmt.Sprintf("Job %d of %s: %s, %s", j.ID, j.Task, text, core.SpanText(end.Sub(j.ClaimedAt).Truncate(time.Millisecond)))})
	}
	d.Height = len(free) * laneHeight
	return d
}

// x is the horizontal position of an instant. A bar from before the picture begins at its edge, and one at its end is still
// visible.
func (l lanes) x(at time.Time) int {
	return min(lanesWidth-4, max(0, int(int64(lanesWidth)*int64(at.Sub(l.From))/int64(l.To.Sub(l.From)))))
}

// Span is how far back it reaches.
func (l lanes) Span() time.Duration { return l.To.Sub(l.From) }

// Said is a worker's lanes in words.
func (w workerLanes) Said() string {
	text := fmt.Sprintf("%s ran %s, at most %d at once", w.Name, parts.Plural(w.Jobs, "job", "jobs"), w.Height/laneHeight)
	if w.More > 0 {
		text = fmt.Sprintf("%s ran %s, more than %d at once", w.Name, parts.Plural(w.Jobs, "job", "jobs"), lanesMost)
	}
	if w.Failed > 0 {
		text += fmt.Sprintf(", of which %d failed", w.Failed)
	}
	return text
}
