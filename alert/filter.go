package alert

import (
	"github.com/belfry-run/belfry/core"
)

// Filter selects alerts, newest first.
type Filter struct {
	core.Paging
	Namespace string // * for all
	Channel   string
	Monitor   string
	Incident  int64 // 0: any or none
	State     State
	ID        int64 // 0: any
}
