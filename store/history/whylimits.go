package history

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

func pausedText(q job.Queue) string {
	if q.PausedAt.IsZero() {
		return q.Name
	}
	text := fmt.Sprintf("%s paused by %s at %s", q.Name, q.PausedBy, core.Stamp(q.PausedAt))
	if q.PausedReason != "" {
		text += ": " + q.PausedReason
	}
	return text
}

func limitText(q job.Queue, s job.QueueStats) string {
	if q.GlobalLimit == 0 {
		return "it has none"
	}
	return fmt.Sprintf("%d of %d running", s.Running, q.GlobalLimit)
}

// whyLimited explains which limit a job waits for, and when its turn comes.
func (s *Store) whyLimited(ctx context.Context, tx base.Tx, row jobs.JobRow, now time.Time, w *job.Why) error {
	tasks, err := s.tasks.TasksByID(ctx, tx, []int64{row.TaskID})
	if err != nil {
		return err
	}
	under, err := s.limits.LimitsOf(ctx, tx, row.Job, tasks[row.TaskID])
	for _, u := range under {
		noun, name, _ := strings.Cut(u.Gate.Owner, ":")
		of := ""
		switch noun {
		case "task":
			name = row.Task
		default:
			of = " of " + noun + " " + name
		}
		check := core.Check{Name: "limit " + u.Gate.Name + of + " has room", OK: !u.Waits, Fix: "wait, or raise the limit: belfry " + noun + " limits " + name}
		key := "all jobs of " + name
		if u.Gate.Key != "" {
			key = fmt.Sprintf("key %q of %s", u.Value, u.Gate.Key)
		}
		switch {
		case u.Stopped != 0:
			if check.Detail, check.Fix, err = whyStopped(ctx, tx, u.Stopped); err != nil {
				return err
			}
			check.Detail = key + ": " + check.Detail
			check.Fix += fmt.Sprintf("go on without it: belfry task resume %s %s", row.Task, u.Value)
		case u.Gone:
			check.Detail = "it was removed, and the engine lets the job in at its next look"
		case u.Gate.Running > 0 && u.Gate.Pace.IsZero():
			check.Detail = fmt.Sprintf("%s: %d of %d are ready or running", key, u.Admitted, u.Gate.Running)
		case u.Gate.Running > 0:
			check.Detail = fmt.Sprintf("%s: %d of %d are ready or running, and the rate lets the next begin from %s on", key, u.Admitted, u.Gate.Running, core.Stamp(u.From))
		default:
			check.Detail = fmt.Sprintf("%s: its rate lets the next begin from %s on", key, core.Stamp(u.From))
		}
		if u.Waits && !u.Gone {
			if check.Detail += fmt.Sprintf(", %d wait before it", u.Before); !u.Gate.Pace.IsZero() {
				at := u.From.Add(time.Duration(int64(u.Before)*u.Gate.Pace.Every) * time.Microsecond)
				switch {
				case at.After(now):
					check.Detail += fmt.Sprintf(", its turn comes at %s at the earliest", core.Stamp(at))
				case u.Gate.Running == 0 && u.Admitted > 0: // a rate admits no more jobs than may begin at once
					check.Detail += fmt.Sprintf(", its turn comes when workers have started the jobs before it: %d are ready or running", u.Admitted)
					check.Fix = "look for workers: belfry worker list; or raise the limit: belfry " + noun + " limits " + name
				}
			}
		}
		w.Checks = append(w.Checks, check)
	}
	return err
}
