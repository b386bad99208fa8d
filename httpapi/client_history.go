package httpapi

import (
	"context"
	"strings"

	"github.com/belfry-run/belfry"
)

// Overview implements [History].
func (c *Client) Overview(ctx context.Context, namespace string) (belfry.Overview, error) {
	return get[belfry.Overview](ctx, c, "/v1/overview", words("namespace", namespace))
}

// JobMinutes implements [History].
func (c *Client) JobMinutes(ctx context.Context, q belfry.MinuteQuery) ([]belfry.JobMinute, error) {
	return items[belfry.JobMinute](ctx, c, "/v1/minutes", words("namespace", q.Namespace, "queue", q.Queue, "within", spanText(q.Within)))
}

// Strips implements [History].
func (c *Client) Strips(ctx context.Context, q belfry.StripQuery) ([]belfry.Strip, error) {
	return items[belfry.Strip](ctx, c, "/v1/strips", words("namespace", q.Namespace, "schedule", strings.Join(q.Schedules, ","), "n", numberText(q.N)))
}

// ScheduleDays implements [History].
func (c *Client) ScheduleDays(ctx context.Context, q belfry.DaysQuery) (belfry.ScheduleDays, error) {
	if err := checked("schedule", q.Schedule); err != nil {
		return belfry.ScheduleDays{}, err
	}
	return get[belfry.ScheduleDays](ctx, c, named("schedules", q.Schedule, "days"),
		words("namespace", q.Namespace, "from", timeText(q.From), "to", timeText(q.To)))
}

// LogText implements [Jobs].
func (c *Client) LogText(ctx context.Context, namespace string, id int64, q belfry.LogQuery) (belfry.LogText, error) {
	v := words("namespace", namespace, "attempt", numberText(q.Attempt), "stream", string(q.Stream), "offset", numberText(int(q.Offset)),
		"limit", numberText(q.Limit), "tail", numberText(q.Tail), "grep", q.Grep)
	if q.Regexp {
		v.Set("regexp", "true")
	}
	return get[belfry.LogText](ctx, c, numbered("jobs", id, "log"), v)
}
