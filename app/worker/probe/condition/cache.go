package condition

import (
	"github.com/belfry-run/belfry/app/worker/internal/cache"
	"github.com/belfry-run/belfry/task"
)

type key struct {
	kind task.Kind
	text string
}

var programs = cache.Map[key, *Program]{Size: 4096}

// Get returns a compiled expression from the cache.
func Get(kind task.Kind, text string) (*Program, error) {
	return programs.Get(key{kind, text}, func() (*Program, error) { return Compile(kind, text) })
}
