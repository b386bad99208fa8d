package wire

import (
	"github.com/belfry-run/belfry/view"
)

// ApplyOptions sets how to apply a manifest.
type ApplyOptions = view.ApplyOptions
