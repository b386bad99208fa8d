package tasks

import (
	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/task"
)

// Hooks are the actions of other packages when a task is saved or deleted.
type Hooks struct {
	Saving   func(c *Change, t task.Task) error
	Saved    func(c *Change, old, t task.Task) error // after an edit
	Deleting func(c *Change, t task.Task) error
	Deleted  func(c *Change, t task.Task) error

	NamespaceSaved func(c *Change, n access.Namespace, limitsBefore []flow.Limit) error
}
