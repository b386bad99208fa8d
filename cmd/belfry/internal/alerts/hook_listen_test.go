package alerts

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
)

// answers are what a server answers, one after the other.
type answers struct {
	pulled  []hook.Pulled
	refused int // of acknowledgements, before one is taken
	acked   []string
}

func (a *answers) PullEvents(context.Context, string, string, string, time.Duration) (hook.Pulled, error) {
	p := a.pulled[0]
	a.pulled = a.pulled[1:]
	return p, nil
}

func (a *answers) AckEvents(_ context.Context, _, _, cursor string) (hook.Standing, error) {
	if a.refused--; a.refused >= 0 {
		return hook.Standing{}, core.Errorf(core.Unavailable, "the server is restarting")
	}
	a.acked = append(a.acked, cursor)
	return hook.Standing{}, nil
}

func TestListenAcknowledges(t *testing.T) {
	t.Parallel()
	one := hook.Pulled{Events: []hook.Numbered{{Event: hook.Event{ID: 7}, Cursor: "1.1"}}, Next: "1.1"}
	for name, row := range map[string]struct {
		server answers
		peek   bool
		want   []string
		notes  string
	}{
		"what was printed":        {server: answers{pulled: []hook.Pulled{one, {Next: "1.1"}}}, want: []string{"1.1"}},
		"nothing":                 {server: answers{pulled: []hook.Pulled{{Next: "1.1"}}}},
		"what was missed":         {server: answers{pulled: []hook.Pulled{{Next: "1.5", Missed: 4}}}, want: []string{"1.5"}, notes: "missed 4 events"},
		"nothing as it peeks":     {server: answers{pulled: []hook.Pulled{one, {Next: "1.5", Missed: 4}}}, peek: true, notes: "missed 4 events"},
		"once the server is back": {server: answers{pulled: []hook.Pulled{one, {Next: "1.1"}}, refused: 2}, want: []string{"1.1"}, notes: "restarting; trying again"},
	} {
		var out, notes strings.Builder
		l := listener{events: &row.server, out: &out, notes: &notes, peek: row.peek, once: true}
		if err := l.listen(t.Context(), "default", "all", ""); err != nil || !slices.Equal(row.server.acked, row.want) || !strings.Contains(notes.String(), row.notes) {
			t.Errorf("%s: acknowledged %v, want %v; %v, %s", name, row.server.acked, row.want, err, notes.String())
		}
	}
}
