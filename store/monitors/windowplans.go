package monitors

import (
	"sync"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
)

// windowPlans keeps compiled windows of maintenance. Like plans, it compares
// what they were made of: neither id nor generation says that for sure.
type windowPlans struct {
	mu   sync.Mutex
	byID map[int64]plannedWindow
}

type plannedWindow struct {
	of   string
	plan monitor.WindowPlan
}

// maxWindowPlans bounds the cache; beyond it, all is forgotten and made again.
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

// WindowPlan is a window of maintenance made ready to compute with.
func (s *Store) WindowPlan(w monitor.Window) (monitor.WindowPlan, error) { return s.windowPlans.of(w) }
