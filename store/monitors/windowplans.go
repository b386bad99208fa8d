package monitors

import (
	"sync"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
)

// windowPlans caches compiled maintenance windows. Like the plans of schedules, it compares the definitions: neither id nor
// generation proves that a plan is current.
type windowPlans struct {
	mu   sync.Mutex
	byID map[int64]plannedWindow
}

type plannedWindow struct {
	of   string
	plan monitor.WindowPlan
}

// maxWindowPlans bounds the cache. If it is full, it is emptied.
const maxWindowPlans = 10_000

func (p *windowPlans) of(w monitor.Window) (monitor.WindowPlan, error) {
	made := base.Text(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.byID[w.ID]; ok && known.of == made {
		return known.plan, nil
	}
	plan, err := monitor.CompileWindow(w)
	if err != nil {
		return plan, err
	}
	if p.byID == nil || len(p.byID) >= maxWindowPlans {
		p.byID = map[int64]plannedWindow{}
	}
	p.byID[w.ID] = plannedWindow{made, plan}
	return plan, nil
}

// WindowPlan returns the compiled plan of a maintenance window.
func (s *Store) WindowPlan(w monitor.Window) (monitor.WindowPlan, error) { return s.windowPlans.of(w) }
