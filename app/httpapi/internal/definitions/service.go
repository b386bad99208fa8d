package definitions

import (
	"context"

	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/view"
)

// Definitions applies and exports whole sets of definitions.
type Definitions interface {
	// Apply applies a manifest to the database in one transaction. Objects that the
	// manifest does not name stay unchanged. With prune, they are deleted from the
	// namespace, except queues. A dry run changes nothing and returns the same plan.
	Apply(ctx context.Context, m view.Manifest, o wire.ApplyOptions) (view.Applied, error)
	Export(ctx context.Context, namespace string) (view.Manifest, error)
	// ExportParts is Export in parts. Each call of the returned function reads one, in the order of the fields of a manifest.
	// The first has about first bytes; 0: as the others.
	ExportParts(namespace string, first int) func(ctx context.Context) (part view.Manifest, more bool, err error)
}
