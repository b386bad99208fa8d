package model

import (
	"errors"
	"fmt"

	"github.com/belfry-run/belfry/internal/model/check"
)

// The names of the promises. Tests refer to them for the effect of a missing guard.
const (
	OneLease           = "a job has one lease at most"
	NumbersGrow        = "the lease numbers of a job grow"
	LeaseOfLive        = "what is leased is ready and has not ended"
	EndsOnce           = "a job ends exactly once"
	NeverTwice         = "no job runs twice at once"
	WithinLimit        = "a queue's limit is never exceeded"
	NoStaleWrite       = "a finish under a lease that was lost changes nothing"
	ExhaustedStaysDead = "what is exhausted or has ended is never claimed"
	KeepsSession       = "a session that has time left is not given up"
	FailedHasBegun     = "a job that has not begun is charged for nothing"
	FewBegins          = "a job begins at most once more often than it may fail"
	AllEnd             = "every job can still end"
	OneJobEach         = "a nominal time has one job at most"
	AboveMark          = "nothing fires at or below the high-water mark"
	AllDecided         = "every nominal time up to the mark is decided"
	PauseHolds         = "what came up during a pause does not run"
	PausedIsQuiet      = "nothing of a paused schedule waits to run"
	OneRun             = "runs of the schedule do not overlap"
	OneLoop            = "a loop that is on has one run or one next time"
	LoopGoesOn         = "a loop that is on can run again"
	BufferDrains       = "a run that waits can still start"
)

func (c Config) always() []check.Always[State] {
	return []check.Always[State]{
		{Name: OneLease, Holds: func(s State) error {
			for j := range s.Leases {
				if s.Leases[j][0].Number > 0 && s.Leases[j][1].Number > 0 {
					return fmt.Errorf("job %d has two", j+1)
				}
			}
			return nil
		}},
		{Name: NumbersGrow, Holds: func(s State) error {
			for j := range s.Leases {
				for _, l := range s.Leases[j] {
					if l.Number > 0 && l.Number <= s.Jobs[j].High {
						return fmt.Errorf("job %d is leased under %d after %d", j+1, l.Number, s.Jobs[j].High)
					}
				}
			}
			return nil
		}},
		{Name: LeaseOfLive, Holds: func(s State) error {
			for j := range s.Leases {
				if s.leased(j) && s.Jobs[j].State != Ready {
					return fmt.Errorf("job %d has a lease all the same", j+1)
				}
			}
			return nil
		}},
		{Name: EndsOnce, Holds: func(s State) error {
			for j, job := range s.Jobs {
				if job.Ends > 1 || job.State.Final() != (job.Ends == 1) {
					return fmt.Errorf("job %d has ended %d times", j+1, job.Ends)
				}
			}
			return nil
		}},
		{Name: FailedHasBegun, Holds: func(s State) error {
			for j, job := range s.Jobs {
				if c.Ahead && job.Begins == 0 && (job.Failures > 0 || job.State == Failed) {
					return fmt.Errorf("job %d is", j+1)
				}
			}
			return nil
		}},
		{Name: FewBegins, Holds: func(s State) error {
			for j, job := range s.Jobs {
				if job.Begins > c.Attempts+1 {
					return fmt.Errorf("job %d begins again", j+1)
				}
			}
			return nil
		}},
		{Name: NeverTwice, Holds: c.neverTwice},
		{Name: WithinLimit, Holds: func(s State) error {
			if c.Limit > 0 && s.running() > c.Limit {
				return fmt.Errorf("%d jobs run", s.running())
			}
			return nil
		}},
		{Name: OneJobEach, Holds: func(s State) error {
			for n, d := range s.Nominals {
				if d.Jobs > 1 {
					return fmt.Errorf("nominal time %d has two", n+1)
				}
			}
			return nil
		}},
		{Name: AllDecided, Holds: func(s State) error {
			for n, d := range s.Nominals {
				if n < c.Plan && uint8(n) < s.Schedule.High && d.Kind == Undecided {
					return fmt.Errorf("nominal time %d is not", n+1)
				}
			}
			return nil
		}},
		{Name: PauseHolds, Holds: func(s State) error {
			for n, d := range s.Nominals {
				if d.Jobs > 0 && s.Schedule.Missed&(1<<n) != 0 {
					return fmt.Errorf("nominal time %d has run", n+1)
				}
			}
			return nil
		}},
		{Name: PausedIsQuiet, Holds: func(s State) error {
			for j := c.Jobs; j < MaxJobs; j++ {
				if s.Schedule.State == Paused && s.Jobs[j] == (Job{State: Ready}) && !s.leased(j) {
					return fmt.Errorf("job %d does", j+1)
				}
			}
			return nil
		}},
		{Name: OneRun, Holds: func(s State) error {
			if n := c.active(&s); n > 1 {
				return fmt.Errorf("%d jobs are live", n)
			}
			return nil
		}},
		{Name: OneLoop, Holds: c.oneLoop},
	}
}

func (c Config) neverTwice(s State) error {
	for j := range MaxJobs {
		n := 0
		for w := range s.Workers {
			if s.Workers[w].Runs[j] > 0 && !s.Workers[w].Frozen {
				n++
			}
		}
		if !c.Loose && (n > 1 || s.Twice) {
			return fmt.Errorf("job %d does", j+1)
		}
	}
	return nil
}

func (c Config) oneLoop(s State) error {
	x := s.Schedule
	if !c.Loop || x.State != Active || !c.has(FollowIsOne) {
		return nil
	}
	n := c.active(&s)
	if x.When != Never {
		n++
	}
	if n != 1 {
		return fmt.Errorf("it has %d", n)
	}
	return nil
}

func (c Config) each() []check.Each[State, Act] {
	return []check.Each[State, Act]{
		{Name: NoStaleWrite, Holds: func(from State, act Act, to State) error {
			j, w := act.Job, act.Who
			var n uint8
			switch {
			case act.Verb == Finish || act.Verb == FinishAgain:
				n = from.Workers[w].Finish[j].Number
			case !c.SlowFinish && (act.Verb == Succeed || act.Verb == Fail || act.Verb == HandBack):
				n = from.Workers[w].Runs[j]
			default:
				return nil
			}
			if from.Leases[j][0].Number == n || from.Leases[j][1].Number == n {
				return nil
			}
			a, b := from.Jobs[j], to.Jobs[j]
			if a.State != b.State || a.Failures != b.Failures || a.Ends != b.Ends || from.leased(int(j)) != to.leased(int(j)) {
				return errors.New("it did")
			}
			return nil
		}},
		{Name: ExhaustedStaysDead, Holds: func(from State, act Act, to State) error {
			if act.Verb != Claim && act.Verb != ClaimLook {
				return nil
			}
			for j := range to.Leases {
				if !from.leased(j) && to.leased(j) && (from.Jobs[j].State != Ready || from.Jobs[j].Failures >= c.Attempts) {
					return fmt.Errorf("job %d is", j+1)
				}
			}
			return nil
		}},
		{Name: KeepsSession, Holds: func(from State, act Act, to State) error {
			inTime := func(s State) (n int) {
				for _, x := range s.Sessions {
					if x.Life == Alive && x.Left > 0 {
						n++
					}
				}
				return n
			}
			if act.Verb == Release && inTime(to) < inTime(from) {
				return errors.New("it was")
			}
			return nil
		}},
		{Name: AboveMark, Holds: func(from State, act Act, _ State) error {
			switch {
			case act.Verb != Fire:
			case c.Loop && from.Schedule.When == Now && from.Schedule.RanNow:
				return errors.New("the same instant does, twice")
			case c.Plan > 0 && min(from.Now, uint8(c.Plan)) <= from.Schedule.High:
				return fmt.Errorf("nominal time %d does", min(from.Now, uint8(c.Plan)))
			}
			return nil
		}},
	}
}

func (c Config) can() []check.Can[State, Act] {
	out := []check.Can[State, Act]{{Name: AllEnd, Good: func(s State) bool {
		for j := range s.Jobs {
			if s.leased(j) || s.Jobs[j].State.Live() {
				return false
			}
		}
		return true
	}}}
	if c.Loop {
		out = append(out, check.Can[State, Act]{
			Name: LoopGoesOn, From: func(s State) bool { return s.Schedule.State == Active },
			Goal: func(from State, act Act, to State) bool { return act.Verb == Fire && c.active(&to) > c.active(&from) },
		})
	}
	if c.Overlap == BufferOne {
		out = append(out, check.Can[State, Act]{
			Name: BufferDrains, From: func(s State) bool { return s.Schedule.State == Active && s.waits() },
			Good: func(s State) bool { return !s.waits() },
		})
	}
	return out
}
