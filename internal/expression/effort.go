package expression

import (
	"errors"
	"runtime"
	"time"

	"github.com/expr-lang/expr/vm"
)

// Limits of all expressions of one answer together.
const (
	// Limit is the longest time. Where the processor time of a thread is known, work that takes longer goes on for as much of
	// that: on a busy machine an expression waits, and is no more work.
	Limit = 500 * time.Millisecond
	// maxSteps is the most steps: one for each round of a predicate, and one for
	// every 64 bytes of created text.
	maxSteps = 1_000_000
	// Memory is the memory limit of the language, in elements of lists.
	Memory = 1_000_000
)

// ErrSpent means that an expression exceeds the limits of work.
var ErrSpent = errors.New("takes too long: the expression is too much work for this answer")

// Meter counts work. The language itself limits only the memory of lists, not the
// rounds of nested predicates or the length of concatenated text. It is for one goroutine.
type Meter struct {
	spent int
	until time.Time     // before this nothing but steps is counted
	late  bool          // from here on processor time is counted
	bound bool          // the goroutine stays on its thread, whose time is counted
	since time.Duration // of the thread, at the last look
	used  time.Duration // of the processor
}

// NewMeter returns a meter whose time begins now.
func NewMeter() Meter { return Meter{until: time.Now().Add(Limit)} }

// Spend counts n steps. It fails if they exceed the limit or the time is up.
func (m *Meter) Spend(n int) error {
	before := m.spent
	m.spent += n
	if m.spent > maxSteps || before/64 != m.spent/64 && m.Spent() {
		m.spent = maxSteps
		return ErrSpent
	}
	return nil
}

// Spent reports that the time is up. It is asked within [Meter.Run].
func (m *Meter) Spent() bool {
	if !m.late && time.Now().Before(m.until) {
		return false
	}
	m.late = true
	return !m.look() || m.used > Limit
}

// look counts the processor time since the last look. It reports false if that is not known here.
func (m *Meter) look() bool {
	if !m.bound {
		runtime.LockOSThread()
		m.bound = true
		m.since = -1
	}
	now, known := threadTime()
	if m.since >= 0 {
		m.used += now - m.since
	}
	m.since = now
	return known
}

// Run evaluates a program, as one step besides its own. It never panics: the language turns panics into errors.
func (m *Meter) Run(on *vm.VM, p *vm.Program, env map[string]any) (any, error) {
	defer m.rest()
	if m.late {
		m.look()
	}
	if err := m.Spend(1); err != nil {
		return nil, err
	}
	on.MemoryBudget = Memory
	out, err := on.Run(p, env)
	if errors.Is(err, ErrSpent) {
		return nil, ErrSpent
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (m *Meter) rest() {
	if m.bound {
		m.look()
		m.bound = false
		runtime.UnlockOSThread()
	}
}

// work returns the used share of the limits, in steps or time: 1 is all.
func (m *Meter) work() float64 {
	left := float64(time.Until(m.until)) / float64(Limit)
	return max(float64(m.spent)/maxSteps, 1-left)
}
