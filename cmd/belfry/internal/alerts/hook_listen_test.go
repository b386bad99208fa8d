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

// quiet is a server that has no events, and restarts while the second call waits. The third call ends the test.
type quiet struct {
	answers
	waits []time.Duration
}

func (q *quiet) PullEvents(_ context.Context, _, _, _ string, wait time.Duration) (hook.Pulled, error) {
	q.waits = append(q.waits, wait)
	switch {
	case wait == 0:
		return hook.Pulled{Next: "1.0"}, nil
	case len(q.waits) < 3:
		return hook.Pulled{}, core.Errorf(core.Unavailable, "the server is restarting")
	}
	return hook.Pulled{}, core.Errorf(core.NotFound, "no such hook")
}

func TestListenOutlivesARestartBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	var server quiet
	var out, notes strings.Builder
	l := listener{events: &server, out: &out, notes: &notes}
	err := l.listen(t.Context(), "default", "all", "")
	if core.CodeOf(err) != core.NotFound || !slices.Equal(server.waits, []time.Duration{0, 30 * time.Second, 30 * time.Second}) || !strings.Contains(notes.String(), "trying again") {
		t.Errorf("%v after waits of %v; %s", err, server.waits, notes.String())
	}
}
