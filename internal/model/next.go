package model

import "github.com/belfry-run/belfry/internal/model/check"

// Spec returns the specification of a world with all its promises.
func (c Config) Spec() check.Spec[State, Act] {
	return check.Spec[State, Act]{
		Init: []State{c.first()}, Next: c.Next, Show: c.Show,
		Always: c.always(), Each: c.each(), Can: c.can(),
	}
}

func (c Config) first() State {
	var s State
	for j := range c.Jobs {
		s.Jobs[j].State = Ready
	}
	if c.TTL == 0 {
		for w := range c.Workers {
			s.Sessions[w].Life = Alive
			s.Workers[w].Session = uint8(w + 1)
		}
	}
	if c.Plan > 0 {
		s.Schedule = Schedule{State: Active, Next: 1}
	}
	if c.Loop {
		s.Schedule = Schedule{State: Active, When: Now, MarkNow: true}
	}
	c.canonical(&s)
	return s
}

// stepper collects the steps out of one state.
type stepper struct {
	Config
	from  State
	steps []check.Step[State, Act]
}

// add adds a step to a state. The verb decides whether it is the system's own.
func (g *stepper) add(verb Verb, who, job int, to State) {
	act := Act{verb, uint8(who), uint8(job)}
	g.steps = append(g.steps, check.Step[State, Act]{Act: act, To: to, Own: act.Own()})
	g.canonical(&g.steps[len(g.steps)-1].To)
}

// Next lists the steps out of a state.
func (c Config) Next(s State, steps []check.Step[State, Act]) []check.Step[State, Act] {
	g := &stepper{c, s, steps}
	if c.over(&s) {
		return steps
	}
	g.tick()
	for w := range c.Workers {
		g.life(w)
		g.claim(w)
		g.beginWaiting(w)
		if c.TTL > 0 {
			g.renew(w)
		}
		for j := range MaxJobs {
			g.finish(w, j)
		}
	}
	g.release()
	g.promote()
	g.people()
	if s.Schedule.State != NoSchedule {
		schedules{g}.schedule()
	}
	return g.steps
}

// over reports whether no further step is of interest: all jobs have ended, and no
// call is under way.
func (c Config) over(s *State) bool {
	if s.Schedule.State == Active || s.Schedule.State == Paused || c.Ask {
		return false
	}
	for j := range s.Jobs {
		if s.Jobs[j].State.Live() || s.leased(j) {
			return false
		}
	}
	for w := range s.Workers {
		x := &s.Workers[w]
		if x.Claim.Phase != Idle || x.Renew.Phase != Idle {
			return false
		}
		for j := range x.Runs {
			if x.Runs[j] > 0 || x.Waits[j] > 0 || x.Finish[j].Number > 0 {
				return false
			}
		}
	}
	return true
}

// tick adds the step in which time passes: fences fall, and calls are given up.
func (g *stepper) tick() {
	s := g.from
	if g.Plan > 0 {
		if int(s.Now) <= g.Plan { // the time after the last nominal time makes no difference
			s.Now++
		}
		if s.Schedule.State == Paused && int(s.Now) <= g.Plan {
			s.Schedule.Missed |= 1 << (s.Now - 1)
		}
	}
	for i := range s.Sessions {
		if x := &s.Sessions[i]; g.TTL > 0 && x.Life == Alive && x.Left > 0 {
			x.Left--
		}
	}
	for j := range s.Jobs {
		if s.Jobs[j].Due > 0 {
			s.Jobs[j].Due--
		}
		for i := range s.Leases[j] {
			if l := &s.Leases[j][i]; g.TTL > 0 && l.Number > 0 && l.Age <= settledAfter {
				l.Age++
			}
		}
	}
	if g.TTL > 0 && !g.Loose {
		for w := range g.Workers {
			g.tickWorker(&s.Workers[w])
		}
	}
	if g.Loop {
		x := &s.Schedule
		x.When = [...]When{Never, Past, Past, Past, Now}[x.When]
		x.MarkNow, x.RanNow = false, false
	}
	g.add(Tick, 0, 0, s)
}

func (g *stepper) tickWorker(w *Worker) {
	if w.Fence > 0 {
		w.Fence--
	}
	if w.Session > 0 && w.Fence == 0 && !w.Frozen && g.has(WorkerFences) {
		w.stop()
	}
	if w.Claim.Phase != Idle && w.Claim.Age <= claimWait {
		w.Claim.Age++
	}
	if w.Claim.Phase == Answered && w.Claim.Age > claimWait && g.has(LateClaimDropped) {
		w.Claim.Phase = Idle
	}
	if w.Renew.Phase == Idle {
		return
	}
	if w.Renew.Age <= uint8(g.TTL) {
		w.Renew.Age++
	}
}

// stop ends the attempts of a worker, and its session from its own view.
func (w *Worker) stop() {
	w.Session, w.Settled, w.Fence, w.Runs, w.Waits = 0, 0, 0, [MaxJobs]uint8{}, [MaxJobs]uint8{}
	if w.Claim.Phase == Answered {
		w.Claim.Phase = Idle // no worker would receive it
	}
	if w.Renew.Phase == Answered {
		w.Renew.Phase = Idle
	}
}

// people adds the actions of people.
func (g *stepper) people() {
	for j := range g.Jobs {
		if g.Ask && g.from.Jobs[j].State.Final() && !g.from.leased(j) {
			s := g.from
			s.Jobs[j] = Job{State: Ready}
			g.add(Ask, 0, j, s)
		}
	}
	for j := range MaxJobs {
		if g.Cancel && g.from.Jobs[j].State.Live() {
			g.cancel(j)
		}
	}
	if g.Lose {
		for j := range MaxJobs {
			for i := range g.from.Leases[j] {
				if l := g.from.Leases[j][i]; l.Number > 0 {
					s := g.from
					g.settle(&s, j, l.Number, Lost)
					g.add(LoseLease, 0, j, s)
				}
			}
		}
	}
}

// cancel ends a waiting job, and requests the end of a running one. It reads which
// of the two applies when the row is locked, not before: a claim may lease the job
// in between, and does not change the row.
func (g *stepper) cancel(j int) {
	s := g.from
	runs := s.leased(j)
	if !g.has(CancelLocksFirst) {
		if s.Looks[j] == NotLooked {
			s.Looks[j] = SawNo
			if runs {
				s.Looks[j] = SawYes
			}
			g.add(CancelLook, 0, j, s)
			return
		}
		runs = s.Looks[j] == SawYes
		s.Looks[j] = NotLooked
	}
	if !runs {
		g.end(&s, j, CanceledJob)
		g.add(Cancel, 0, j, s)
		return
	}
	for i := range s.Leases[j] {
		if l := &s.Leases[j][i]; l.Number > 0 {
			l.Cancel = true
		}
	}
	g.add(Cancel, 0, j, s)
}

// promote makes due jobs ready.
func (g *stepper) promote() {
	s, any := g.from, false
	for j := range s.Jobs {
		if job := &s.Jobs[j]; job.State == Scheduled && job.Due == 0 {
			job.State, any = Ready, true
		}
	}
	if any {
		g.add(Promote, 0, 0, s)
	}
}
