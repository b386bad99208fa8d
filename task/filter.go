package task

import (
	"github.com/belfry-run/belfry/core"
)

// Filter selects tasks, by name.
type Filter struct {
	core.Paging
	Namespace string // * for all
	Kind      Kind
	Tag       string
	Part      string // a part of the name or title, ignoring case
}
