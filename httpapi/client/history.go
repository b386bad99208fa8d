package client

import (
	"context"
	"strings"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// Overview implements [httpapi.History].
func (c *Client) Overview(ctx context.Context, namespace string) (view.Overview, error) {
	return get[view.Overview](ctx, c, "/v1/overview", words("namespace", namespace))
}

// JobMinutes implements [httpapi.History].
func (c *Client) JobMinutes(ctx context.Context, q job.MinuteQuery) ([]job.MinuteTotals, error) {
	return items[job.MinuteTotals](ctx, c, "/v1/minutes", words("namespace", q.Namespace, "queue", q.Queue, "within", spanText(q.Within)))
}

// Strips implements [httpapi.History].
func (c *Client) Strips(ctx context.Context, q view.StripQuery) ([]view.Strip, error) {
	return items[view.Strip](ctx, c, "/v1/strips", words("namespace", q.Namespace, "schedule", strings.Join(q.Schedules, ","), "n", numberText(q.N)))
}

// ScheduleDays implements [httpapi.History].
func (c *Client) ScheduleDays(ctx context.Context, q view.DaysQuery) (view.ScheduleDays, error) {
	if err := checked("schedule", q.Schedule); err != nil {
		return view.ScheduleDays{}, err
	}
	return get[view.ScheduleDays](ctx, c, named("schedules", q.Schedule, "days"),
		words("namespace", q.Namespace, "from", timeText(q.From), "to", timeText(q.To)))
}

// LogText implements [httpapi.Jobs].
func (c *Client) LogText(ctx context.Context, namespace string, id int64, q job.LogQuery) (job.LogText, error) {
	v := words("namespace", namespace, "attempt", numberText(q.Attempt), "stream", string(q.Stream), "offset", numberText(int(q.Offset)),
		"limit", numberText(q.Limit), "tail", numberText(q.Tail), "grep", q.Grep)
	if q.Regexp {
		v.Set("regexp", "true")
	}
	return get[job.LogText](ctx, c, numbered("jobs", id, "log"), v)
}
