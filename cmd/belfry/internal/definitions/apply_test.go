package definitions

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// edited is a database of which a task was edited before, or is meanwhile.
type edited struct {
	httpapi.Service
	before  string
	applied bool
}

func (e *edited) Apply(_ context.Context, _ view.Manifest, o view.ApplyOptions) (view.Applied, error) {
	e.applied = !o.DryRun
	return view.Applied{DryRun: o.DryRun, Changes: []view.Change{{Action: view.ActionUpdate, Noun: "task", Name: "t", Fields: []string{"timeout: " + e.before + " -> 5m"}}}}, nil
}

// A plan is carried out as it was agreed to. What another editor changes while it is read is not overwritten unseen.
func TestAPlanThatChangesWhileItIsReadIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		ask  func(e *edited) func(*cli.CLI) bool
		done bool
	}{
		"no question": {func(*edited) func(*cli.CLI) bool { return nil }, true},
		"yes":         {func(*edited) func(*cli.CLI) bool { return func(*cli.CLI) bool { return true } }, true},
		"no":          {func(*edited) func(*cli.CLI) bool { return func(*cli.CLI) bool { return false } }, false},
		"yes, but another editor was faster": {func(e *edited) func(*cli.CLI) bool {
			return func(*cli.CLI) bool { e.before = "1h"; return true }
		}, false},
	} {
		e := &edited{before: "1m"}
		c := cli.New(strings.NewReader(""), io.Discard, io.Discard, nil)
		err := apply(t.Context(), c, &cli.Conn{Service: e}, config.Definitions{}, view.ApplyOptions{}, row.ask(e))
		if e.applied != row.done || (err == nil) != row.done || !row.done && core.CodeOf(err) != core.Conflict {
			t.Errorf("%s: applied %v, %v", name, e.applied, err)
		}
	}
}
