package frame

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Titles are the titles of the objects that a page names. With all namespaces only
// those of queues are known, because another name may stand for several objects.
func Titles(ctx context.Context, api interface {
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
}, q view.Named) (view.Titles, error) {
	if q.Namespace == core.AnyNamespace {
		q = view.Named{Queues: q.Queues}
	}
	asked := 0
	for _, names := range []*[]string{&q.Tasks, &q.Schedules, &q.Monitors, &q.Queues, &q.Channels, &q.AlertRules, &q.Hooks} {
		*names = some(*names)
		asked += len(*names)
	}
	if asked == 0 {
		return nil, nil
	}
	return api.Titles(ctx, q)
}

func some(names []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, n := range names {
		if n != "" && !seen[n] && len(out) < view.MaxTitles {
			seen[n], out = true, append(out, n)
		}
	}
	return out
}
