package tasks

import (
	"github.com/belfry-run/belfry/task"
)

// Hooks are what other rooms do when a task is saved or deleted.
type Hooks struct {
	Saving   func(c *Change, t task.Task) error
	Saved    func(c *Change, old, t task.Task, requirement int64) error // of an edit
	Deleting func(c *Change, t task.Task) error
	Deleted  func(c *Change, t task.Task) error
}
