package jobs

import (
	"bytes"
	"context"
	"testing"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

func TestBulkActionShowsItsResultsBeforeAnError(t *testing.T) {
	t.Parallel()
	away := core.Errorf(core.Unavailable, "the server is away")
	for name, c := range map[string]struct {
		answers []view.Selected // and then the server is away
		shown   string
	}{
		"at once":     {nil, ""},
		"on the way":  {[]view.Selected{{IDs: []int64{1, 2}, More: true, Next: "a"}, {IDs: []int64{3}, More: true, Next: "b"}}, "job 1 canceled\njob 2 canceled\njob 3 canceled\n"},
		"some remain": {[]view.Selected{{Left: map[int64]string{7: "it runs"}, More: true, Next: "a"}}, ""},
	} {
		var stdout, stderr bytes.Buffer
		cmd := cli.New(nil, &stdout, &stderr, nil)
		err := selected(t.Context(), cmd, nil, view.Selection{}, "canceled", func(context.Context, *cli.Conn, view.Selection) (view.Selected, error) {
			if len(c.answers) == 0 {
				return view.Selected{}, away
			}
			next := c.answers[0]
			c.answers = c.answers[1:]
			return next, nil
		})
		if cli.ExitCode(err) != cli.ExitUnavailable || stdout.String() != c.shown {
			t.Errorf("%s: exit %d, and shown:\n%s", name, cli.ExitCode(err), stdout.String())
		}
	}
}
