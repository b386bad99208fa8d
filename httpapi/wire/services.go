package wire

import (
	"github.com/belfry-run/belfry/view"
)

// ApplyOptions says how to apply.
type ApplyOptions = view.ApplyOptions
