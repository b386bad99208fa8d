package definitions

import (
	"context"

	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/view"
)

// Definitions applies and exports whole sets of definitions.
type Definitions interface {
	// Apply makes the database as the manifest says, in one transaction. Objects
	// that the manifest does not name are left alone, unless prune is set: then all
	// but queues that it does not name is deleted from the namespace.
	// A dry run changes nothing and answers the same plan.
	Apply(ctx context.Context, m view.Manifest, o wire.ApplyOptions) (view.Applied, error)
	Export(ctx context.Context, namespace string) (view.Manifest, error)
}
