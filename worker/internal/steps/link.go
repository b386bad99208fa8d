package steps

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Link creates a link to a signal of the job. It is not a step, and may be called within one.
func (b *Book) Link(ctx context.Context, l job.Link) (made job.NewLink, err error) {
	if err := l.Validate(); err != nil {
		return made, err
	}
	if b.Keeper == nil {
		return made, core.Errorf(core.Conflict, "a link to signal %q of job %d needs a record, and nothing keeps one", l.Name, b.Ref.JobID).WithHint("run the worker with a server")
	}
	err = b.patiently(ctx, func(ctx context.Context) error {
		made, err = b.Keeper.LinkSignal(ctx, b.Session, b.Ref, l)
		return err
	})
	return made, err
}
