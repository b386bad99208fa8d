package model

// finish adds the steps in which an attempt ends and its result reaches the store.
func (g *stepper) finish(w, j int) {
	x := &g.from.Workers[w]
	if n := x.Runs[j]; n > 0 && !x.Frozen && x.Finish[j].Number == 0 {
		g.ended(w, j, Succeed, FinishCall{Number: n, Outcome: OK})
		if g.Errors {
			g.ended(w, j, Fail, FinishCall{Number: n, Outcome: Error})
		}
		if g.Loose {
			g.ended(w, j, HandBack, FinishCall{Number: n, Outcome: HandedBack})
		}
	}
	f := x.Finish[j]
	if f.Number == 0 {
		return
	}
	if !g.has(FinishMatchesLocked) && f.Matched == NotLooked {
		s := g.from
		s.Workers[w].Finish[j].Matched = SawNo
		if s.Leases[j][0].Number == f.Number {
			s.Workers[w].Finish[j].Matched = SawYes
		}
		g.add(FinishLook, w, j, s)
		return
	}
	s := g.from
	g.arrive(&s, j, f)
	if g.Repeat {
		s.Workers[w].Finish[j].Matched = NotLooked
		g.add(FinishAgain, w, j, s)
	}
	s.Workers[w].Finish[j] = FinishCall{}
	g.add(Finish, w, j, s)
}

// ended ends an attempt in its worker. Its finish is sent, or arrives at once.
func (g *stepper) ended(w, j int, verb Verb, f FinishCall) {
	s := g.from
	x := &s.Workers[w]
	x.Runs[j] = 0
	if g.SlowFinish {
		x.Finish[j] = f
	} else {
		g.arrive(&s, j, f)
	}
	g.add(verb, w, j, s)
}

// arrive handles a finish in the store. Under a lease that has ended it changes
// nothing.
func (g *stepper) arrive(s *State, j int, f FinishCall) {
	for i := range s.Leases[j] {
		if s.Leases[j][i].Number == f.Number {
			g.settle(s, j, f.Number, f.Outcome)
			return
		}
	}
	if !g.has(FinishMatchesNumber) && s.leased(j) {
		g.settle(s, j, s.Leases[j][0].Number, f.Outcome)
	}
	if f.Matched == SawYes {
		g.end(s, j, Succeeded)
	}
}

// settle ends an attempt: its lease is removed, and its job ends or waits again. The
// attempts of lost workers are settled here as well.
func (g *stepper) settle(s *State, j int, number uint8, out Outcome) {
	job := &s.Jobs[j]
	var l Lease
	for i := range s.Leases[j] {
		if s.Leases[j][i].Number == number {
			l, s.Leases[j][i] = s.Leases[j][i], Lease{}
		}
	}
	job.Last, job.High = number, max(job.High, number)
	if out == Lost && l.Ahead && g.mayWait(job) && g.has(AheadIsForgiven) {
		out = HandedBack
	}
	job.Tried = job.Tried || g.Ahead
	switch {
	case out == OK:
		g.end(s, j, Succeeded)
	case l.Cancel || out == Canceled:
		g.end(s, j, CanceledJob)
	case out == HandedBack:
		job.State = Ready
	default:
		job.Failures = min(job.Failures+1, g.Attempts)
		if job.Failures >= g.Attempts && g.has(CountFailures) {
			g.end(s, j, Failed)
			return
		}
		job.State, job.Due = Scheduled, 1
	}
}

// end moves a job to history and writes the consequences.
func (g *stepper) end(s *State, j int, as JobState) {
	s.Jobs[j].State = as
	s.Jobs[j].Ends = min(s.Jobs[j].Ends+1, 2)
	if j >= g.Jobs {
		schedules{g}.follow(s, j)
	}
}
