package history

// State is a job in the sequential model. The zero value is a job that does not exist.
type State struct {
	Exists bool
	Final  string // empty while the job is live
	Dead   bool   // the job is live or exhausted: only later steps show which
	Lease  int64  // lease of the running attempt; 0: none
	Newest int64  // largest lease so far
	Asked  bool   // a cancel was requested while it ran
	Next   int    // number of ended attempts
}

// Verb is the kind of a step.
type Verb string

// The steps of a job.
const (
	Create   Verb = "create"
	Cancel   Verb = "cancel"
	Retry    Verb = "retry"
	Withdraw Verb = "withdraw" // the installation ends a job that has not begun, with a reason
	Claim    Verb = "claim"
	Settle   Verb = "settle"
	Look     Verb = "look"
)

// Answer is the answer to a step that a client got.
type Answer string

// The answers.
const (
	Done    Answer = "done"
	Already Answer = "already" // for a creation: the job existed
	Left    Answer = "left"
	Unheard Answer = "unheard" // the answer is unknown
)

// Step is one operation on one job, which took effect at one instant between Invoked and Ended.
type Step struct {
	Verb     Verb
	Answer   Answer
	Lease    int64  // for claim and settle
	Index    int    // for claim and settle: index of the attempt, from 0
	Outcome  string // for settle; empty: unknown
	State    string // for look and withdraw
	Attempts int    // for look: number of ended attempts; -1: unknown
	Optional bool   // it may take no effect, now or later
	Invoked  int64
	Ended    int64
	Text     string
	Line     int
}

// Apply is the sequential model: it returns the state after a step, and whether its answer is possible.
func (s State) Apply(p Step) (State, bool) {
	switch p.Verb {
	case Create:
		fits := p.Answer != Done || !s.Exists
		s.Exists = true
		return s, fits
	case Cancel:
		return s.cancel(p.Answer)
	case Retry:
		ended := s.Dead || s.Final != "" && s.Final != "succeeded"
		if !ended {
			return s, p.Answer != Done
		}
		if p.Answer != Left {
			s.Final, s.Dead, s.Asked = "", false, false
		}
		return s, true
	case Withdraw:
		fits := s.Exists && s.Final == ""
		if s.Lease > 0 {
			s.Asked = true
		} else {
			s.Final, s.Dead = p.State, false
		}
		return s, fits
	case Claim:
		fits := s.Exists && s.Final == "" && s.Lease == 0 && !s.Asked && p.Index == s.Next && p.Lease > s.Newest
		s.Lease, s.Newest, s.Dead = p.Lease, p.Lease, false
		return s, fits
	case Settle:
		return s.settle(p)
	case Look:
		return s.look(p)
	}
	return s, false
}

func (s State) cancel(a Answer) (State, bool) {
	lives := s.Exists && s.Final == ""
	if a == Left {
		return s, !lives || s.Asked || s.Dead
	}
	if !lives {
		return s, a != Done
	}
	if s.Lease > 0 {
		s.Asked = true
	} else {
		s.Final, s.Dead = "canceled", false
	}
	return s, true
}

// settle ends the running attempt. A success counts even after a cancel request.
func (s State) settle(p Step) (State, bool) {
	fits := s.Lease == p.Lease && p.Index == s.Next
	s.Lease = 0
	s.Next++
	switch {
	case p.Outcome == "ok":
		s.Final = "succeeded"
	case p.Outcome == "canceled", s.Asked:
		s.Final = "canceled"
	default:
		s.Dead = true
	}
	s.Asked = false
	return s, fits
}

func (s State) look(p Step) (State, bool) {
	if p.Attempts >= 0 && p.Attempts != s.Next {
		return s, false
	}
	switch p.State {
	case "not_found":
		return s, !s.Exists
	case "running":
		return s, s.Exists && s.Lease > 0
	case "waiting", "scheduled", "ready":
		fits := s.Exists && s.Final == "" && s.Lease == 0
		s.Dead = false
		return s, fits
	case "failed":
		fits := s.Dead || s.Final == "failed"
		s.Final, s.Dead = "failed", false
		return s, fits
	}
	return s, s.Final == p.State
}

// maxStates is the most states of the search for one job.
const maxStates = 300_000

// search searches for an order of steps that the model explains: each takes effect between its invocation and its end. It is
// the algorithm of Wing and Gong with Lowe's cache of visited states.
type search struct {
	steps []Step
	seen  map[place]bool
	most  int  // limit of visited places
	full  bool // the limit was exceeded
}

// place is a state of the search: the steps that have taken effect, and the resulting state of the job.
type place struct {
	had   string
	state State
}

// Explained reports whether an order of the steps explains all answers. undecided means that the search was given up.
func Explained(steps []Step) (yes, undecided bool) { return explained(steps, maxStates) }

func explained(steps []Step, most int) (yes, undecided bool) {
	s := &search{steps: steps, seen: map[place]bool{}, most: most}
	yes = s.from(State{}, make([]byte, len(steps)))
	return yes, !yes && s.full
}

func (s *search) from(state State, had []byte) bool {
	if len(s.seen) > s.most {
		s.full = true
		return false
	}
	soonest, left := never+1, 0
	for i, p := range s.steps {
		if had[i] == 0 && !p.Optional {
			left++
			soonest = min(soonest, p.Ended)
		}
	}
	if left == 0 {
		return true
	}
	at := place{string(had), state}
	if s.seen[at] {
		return false
	}
	s.seen[at] = true
	for i, p := range s.steps {
		if had[i] != 0 || p.Invoked > soonest {
			continue
		}
		next, fits := state.Apply(p)
		if !fits || p.Optional && next == state {
			continue
		}
		had[i] = 1
		if s.from(next, had) {
			return true
		}
		had[i] = 0
	}
	return false
}
