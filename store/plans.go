package store

import (
	"sync"

	"github.com/belfry-run/belfry"
)

// plans keeps compiled rules. A schedule's times change only with its
// generation, so (id, generation) is all there is to know.
type plans struct {
	mu   sync.Mutex
	byID map[int64]planned
}

type planned struct {
	generation int64
	plan       belfry.Plan
}

// maxPlans bounds the cache. A plan takes about a kilobyte and some
// microseconds to make, so losing one is no harm.
const maxPlans = 50_000

func newPlans() *plans { return &plans{byID: map[int64]planned{}} }

func (p *plans) of(s belfry.Schedule) (belfry.Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.byID[s.ID]; ok && known.generation == s.Generation {
		return known.plan, nil
	}
	plan, err := s.Plan()
	if err != nil {
		return plan, err
	}
	if len(p.byID) >= maxPlans {
		for id := range p.byID {
			delete(p.byID, id)
			break
		}
	}
	p.byID[s.ID] = planned{s.Generation, plan}
	return plan, nil
}
