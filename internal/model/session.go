package model

// life adds the steps in which a worker starts and ends.
func (g *stepper) life(w int) {
	x := &g.from.Workers[w]
	if x.Frozen {
		s := g.from
		y := &s.Workers[w]
		y.Frozen = false
		if y.Session > 0 && y.Fence == 0 && g.has(FenceAtWaking) {
			y.stop()
		}
		g.add(Wake, w, 0, s)
		return
	}
	if g.Stall && x.busy() && g.mayFail() {
		s := g.from
		g.fails(&s)
		s.Workers[w].Frozen = true
		g.add(Stall, w, 0, s)
	}
	if x.Session == 0 {
		g.open(w)
		return
	}
	if g.Crash && g.mayFail() {
		g.crash(w)
	}
	if g.Close && (!x.busy() || g.Loose) {
		g.close(w)
	}
}

func (g *stepper) mayFail() bool { return g.Fails == 0 || int(g.from.Fails) < g.Fails }

func (g *stepper) fails(s *State) {
	if g.Fails > 0 {
		s.Fails++
	}
}

// busy reports whether a worker has an attempt or call under way.
func (w *Worker) busy() bool {
	for j := range w.Runs {
		if w.Runs[j] > 0 || w.Waits[j] > 0 || w.Finish[j].Number > 0 {
			return true
		}
	}
	return w.Claim.Phase != Idle || w.Renew.Phase != Idle
}

func (g *stepper) open(w int) {
	for i := range g.from.Sessions {
		if g.from.Sessions[i].Life != NoSession {
			continue
		}
		s := g.from
		s.Sessions[i] = Session{Alive, g.TTL}
		s.Workers[w].Session = uint8(i + 1)
		if !g.Loose {
			s.Workers[w].Fence = g.TTL
		}
		g.add(Open, w, 0, s)
		return
	}
}

// crash ends a process. Calls that it had sent may still arrive, or not.
func (g *stepper) crash(w int) {
	s := g.from
	g.fails(&s)
	x := &s.Workers[w]
	g.stop(x)
	g.add(Crash, w, 0, s)
	if x.Finish != [MaxJobs]FinishCall{} {
		x.Finish = [MaxJobs]FinishCall{}
		g.add(Crash, w, 0, s)
	}
}

// stop ends a worker's session from its own view. If calls take no time, its
// attempts may still be reported, by a part that the fence did not reach.
func (g *stepper) stop(w *Worker) {
	if !g.Loose {
		w.stop()
	}
	w.Session = 0
}

// close ends a session whose worker holds nothing. Leases of a claim under way are
// handed back.
func (g *stepper) close(w int) {
	s := g.from
	x := &s.Workers[w]
	for j := range s.Leases {
		for i := range s.Leases[j] {
			if l := s.Leases[j][i]; l.Session == x.Session && l.Number > 0 {
				g.settle(&s, j, l.Number, HandedBack)
			}
		}
	}
	if s.alive(x.Session) {
		s.Sessions[x.Session-1].Life = Ended
	}
	g.stop(x)
	g.add(Close, w, 0, s)
}

// renew adds the steps of a renewal: sent, carried out, answered.
func (g *stepper) renew(w int) {
	x := &g.from.Workers[w]
	if !g.SlowRenew {
		if x.Session > 0 && !x.Frozen {
			g.renewNow(w)
		}
		return
	}
	if x.Renew.Phase == Idle && x.Session > 0 && !x.Frozen {
		s := g.from
		y := &s.Workers[w]
		y.Renew = RenewCall{Phase: Asked, Session: y.Session, Hold: y.holding(), Waits: y.waiting(), Settled: y.Settled}
		g.add(RenewSend, w, 0, s)
	}
	if x.Renew.Phase == Asked {
		s := g.from
		g.carryOut(&s, &s.Workers[w].Renew)
		g.add(Renew, w, 0, s)
	}
	if x.Renew.Phase == Answered && !x.Frozen {
		g.renewed(w)
	}
	if x.Renew.Phase != Idle {
		s := g.from
		s.Workers[w].Renew.Phase = Idle
		g.add(LoseRenew, w, 0, s)
	}
}

// holding returns the jobs that a worker names in a renewal: running jobs, and jobs
// whose result has no answer yet.
func (w *Worker) holding() (hold [MaxJobs]uint8) {
	for j := range hold {
		hold[j] = max(w.Finish[j].Number, w.Waits[j])
		if w.Runs[j] > 0 {
			hold[j] = w.Runs[j]
		}
	}
	return hold
}

// waiting returns the held jobs that have not begun, one bit each.
func (w *Worker) waiting() (bits uint8) {
	for j := range w.Waits {
		if w.Waits[j] > 0 {
			bits |= 1 << j
		}
	}
	return bits
}

// renewNow adds renewals that take no time: one that names all jobs, and one of a
// worker that never received its claim.
func (g *stepper) renewNow(w int) {
	s := g.from
	x := &s.Workers[w]
	x.Renew = RenewCall{Session: x.Session, Hold: x.holding(), Waits: x.waiting(), Settled: x.Settled}
	g.carryOut(&s, &x.Renew)
	if !g.Loose {
		g.hear(x)
		g.add(Renew, w, 0, s)
		return
	}
	if x.Renew.Lost {
		x.Session = 0
	}
	x.Renew.Phase = Idle
	g.add(Renew, w, 0, s)
	s = g.from
	r := RenewCall{Session: s.Workers[w].Session, Settled: s.Number} // of a worker with the latest answer
	g.carryOut(&s, &r)
	if r.Lost {
		s.Workers[w].Session = 0
	}
	g.add(RenewEmpty, w, 0, s)
}

// carryOut handles a renewal in the store.
func (g *stepper) carryOut(s *State, r *RenewCall) {
	r.Phase = Answered
	if !s.alive(r.Session) {
		r.Lost, r.Hold = true, [MaxJobs]uint8{}
		return
	}
	s.Sessions[r.Session-1].Left = g.TTL
	asked := r.Settled
	r.Settled = g.settled(s, r.Session)
	if !g.has(SettledBefore) {
		asked = r.Settled
	}
	for j := range s.Leases {
		for i := range s.Leases[j] {
			l := s.Leases[j][i]
			named := l.Number == r.Hold[j]
			if l.Number > 0 && l.Session == r.Session && !named && l.Number <= asked && g.old(l) {
				g.settle(s, j, l.Number, HandedBack)
			}
		}
		if l := &s.Leases[j][0]; l.Number > 0 && l.Number == r.Hold[j] && r.Waits&(1<<j) == 0 {
			l.Ahead = false
		}
		if l := s.Leases[j][0]; r.Hold[j] > 0 && (l.Number != r.Hold[j] || l.Session != r.Session || l.Cancel) {
			r.Cancel |= 1 << j
		}
	}
}

// old reports whether the claim of a lease was answered or never will be.
func (c Config) old(l Lease) bool {
	return l.Age > settledAfter || !c.has(HandBackLate)
}

// settled returns the highest lease of a session up to which all leases are old.
func (c Config) settled(s *State, session uint8) uint8 {
	most, young := uint8(0), s.Number+1
	for j := range s.Leases {
		for _, l := range s.Leases[j] {
			switch {
			case l.Number == 0 || l.Session != session:
			case c.old(l):
				most = max(most, l.Number)
			default:
				young = min(young, l.Number)
			}
		}
	}
	return min(most, young-1)
}

// renewed handles the answer of a renewal in the worker.
func (g *stepper) renewed(w int) {
	s := g.from
	g.hear(&s.Workers[w])
	g.add(Renewed, w, 0, s)
}

func (g *stepper) hear(x *Worker) {
	r := x.Renew
	x.Renew.Phase = Idle
	switch {
	case r.Session != x.Session: // of an earlier session
	case r.Lost:
		x.stop()
	default:
		left := g.TTL - int8(r.Age)
		if !g.has(FenceFromSending) {
			left = g.TTL
		}
		x.Fence = max(x.Fence, left)
		x.Settled = r.Settled
		for j := range x.Runs {
			if r.Cancel&(1<<j) != 0 && x.Runs[j] > 0 && x.Runs[j] == r.Hold[j] && x.Finish[j].Number == 0 {
				x.Finish[j] = FinishCall{Number: x.Runs[j], Outcome: Canceled}
				x.Runs[j] = 0
			}
			if r.Cancel&(1<<j) != 0 && x.Waits[j] > 0 && x.Waits[j] == r.Hold[j] {
				x.Finish[j] = FinishCall{Number: x.Waits[j], Outcome: Canceled}
				x.Waits[j] = 0
			}
		}
	}
}

// release gives up sessions that did not renew in time and settles their leases.
func (g *stepper) release() {
	if g.TTL == 0 {
		return
	}
	s := g.from
	var overdue uint8
	for i, x := range s.Sessions {
		if x.Life == Alive && x.Left <= 0 {
			overdue |= 1 << i
		}
	}
	if !g.has(ReleaseChecksAgain) {
		if s.Looking == 0 {
			if overdue != 0 {
				s.Looking, s.Looked = ReleaseLook, overdue
				g.add(ReleaseLook, 0, 0, s)
			}
			return
		}
		overdue, s.Looking, s.Looked = s.Looked, 0, 0
	}
	for i := range s.Sessions {
		if overdue&(1<<i) != 0 {
			s.Sessions[i].Life = Ended
		}
	}
	found := overdue != 0
	for j := range s.Leases {
		for i := range s.Leases[j] {
			l := s.Leases[j][i]
			if l.Number == 0 || s.alive(l.Session) || !g.has(ReleaseLooksAgain) && overdue&(1<<(l.Session-1)) == 0 {
				continue
			}
			g.settle(&s, j, l.Number, Lost)
			found = true
		}
	}
	if found {
		g.add(Release, 0, 0, s)
	}
}
