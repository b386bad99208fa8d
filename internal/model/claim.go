package model

// claim adds the steps of a claim. It has two parts, and other transactions may
// come between them. It reads ready jobs without a lease from a snapshot. Then it
// locks their rows, draws a number and inserts leases. Under read committed, a row
// that changed after the read is judged as it is when it is locked. A new lease
// does not change the row of the job, so leases are read again then.
func (g *stepper) claim(w int) {
	x := &g.from.Workers[w]
	switch x.Claim.Phase {
	case Idle:
		if x.Session > 0 && !x.Frozen {
			g.claimLook(w)
		}
	case Asked:
		s := g.from
		g.claimAct(&s, w)
		g.receiveNow(&s, w)
		g.add(Claim, w, 0, s)
		s = g.from
		s.Workers[w].Claim.Phase = Idle
		g.unlockQueue(&s, w)
		g.add(ClaimDies, w, 0, s)
	case Answered:
		if !x.Frozen {
			g.receive(w)
		}
		s := g.from
		s.Workers[w].Claim.Phase = Idle
		g.add(LoseClaim, w, 0, s)
	}
}

func (g *stepper) claimLook(w int) {
	s := g.from
	x := &s.Workers[w]
	if !s.alive(x.Session) {
		g.stop(x)
		g.add(GiveUp, w, 0, s)
		return
	}
	room := MaxJobs
	if g.Limit > 0 {
		if s.Queue > 0 {
			return // it waits for the lock on the queue
		}
		room = g.Limit - s.running()
	}
	picks := uint8(0)
	ahead, slots := uint8(0), x.slots(g.Config)
	for j := range s.Jobs {
		if s.Jobs[j].State != Ready || s.leased(j) || room == 0 {
			continue
		}
		if slots == 0 {
			if !g.mayWait(&s.Jobs[j]) && g.has(FinalNeedsSlot) {
				break // nor are the jobs behind it
			}
			ahead |= 1 << j
		}
		picks |= 1 << j
		room--
		slots = max(0, slots-1)
	}
	if picks == 0 {
		return
	}
	x.Claim = ClaimCall{Phase: Asked, Session: x.Session, Jobs: picks, Ahead: ahead}
	if !g.Split {
		g.claimAct(&s, w)
		g.receiveNow(&s, w)
		g.add(Claim, w, 0, s)
		return
	}
	if g.Limit > 0 && g.has(LimitLocksQueue) {
		s.Queue = uint8(w + 1)
	}
	if !g.has(NumberAfterLock) {
		s.Number++
		x.Claim.Number = s.Number
	}
	g.add(ClaimLook, w, 0, s)
}

func (g *stepper) unlockQueue(s *State, w int) {
	if s.Queue == uint8(w+1) {
		s.Queue = 0
	}
}

// claimAct leases the picked jobs that are still available.
func (g *stepper) claimAct(s *State, w int) {
	c := &s.Workers[w].Claim
	g.unlockQueue(s, w)
	number := c.Number
	if g.has(NumberAfterLock) {
		s.Number++
		number = s.Number
	}
	got := uint8(0)
	for j := range s.Jobs {
		switch {
		case c.Jobs&(1<<j) == 0:
		case s.Jobs[j].State != Ready && g.has(ClaimChecksAgain):
		case !s.alive(c.Session) && g.has(ClaimLocksSession):
		default:
			if g.insert(s, j, Lease{Number: number, Session: c.Session, Ahead: c.Ahead&(1<<j) != 0}) {
				got |= 1 << j
			}
		}
	}
	c.Jobs, c.Number, c.Phase = got, number, Answered
	if got == 0 || !g.Loose && (c.Session != s.Workers[w].Session || c.Age > claimWait && g.has(LateClaimDropped)) {
		c.Phase = Idle // no job to return, or no worker to receive it
	}
}

// insert adds a lease unless the job has one.
func (g *stepper) insert(s *State, j int, l Lease) bool {
	for i := range s.Leases[j] {
		if s.Leases[j][i].Number == 0 {
			s.Leases[j][i] = l
			return true
		}
		if g.has(UniqueLease) {
			return false
		}
	}
	return false
}

// receiveNow gives a worker its jobs if answers take no time.
func (g *stepper) receiveNow(s *State, w int) {
	if x := &s.Workers[w]; !g.SlowClaim && x.Claim.Phase == Answered {
		g.take(s, x)
	}
}

// take begins the claimed jobs, except those claimed ahead.
func (g *stepper) take(s *State, w *Worker) {
	for j := range w.Runs {
		switch {
		case w.Claim.Jobs&(1<<j) == 0:
		case w.Claim.Ahead&(1<<j) != 0:
			w.Waits[j] = w.Claim.Number
		default:
			g.begin(s, j)
			s.Twice = s.Twice || w.Runs[j] > 0 && !g.Loose
			w.Runs[j] = w.Claim.Number
		}
	}
	w.Claim.Phase = Idle
}

// receive handles the answer of a claim in the worker.
func (g *stepper) receive(w int) {
	s := g.from
	x := &s.Workers[w]
	if x.Claim.Session != x.Session {
		return // the session is over: the worker refuses the jobs
	}
	g.take(&s, x)
	g.add(Receive, w, 0, s)
}

// slots returns the number of slots of a worker. Without Ahead each job has one.
func (w *Worker) slots(c Config) int {
	if !c.Ahead {
		return MaxJobs
	}
	for j := range w.Runs {
		if w.Runs[j] > 0 || w.Waits[j] > 0 || w.Finish[j].Number > 0 {
			return 0
		}
	}
	return 1
}

// mayWait reports whether a job may be claimed ahead: its loss can be forgiven.
func (g *stepper) mayWait(j *Job) bool {
	return g.Attempts > 1 && (!j.Tried || !g.has(ForgivenOnce))
}

// begin records that an attempt of a job begins.
func (g *stepper) begin(s *State, j int) {
	if g.Ahead {
		s.Jobs[j].Begins = min(s.Jobs[j].Begins+1, g.Attempts+2)
	}
}

// beginWaiting begins a job that was claimed ahead, when the slot is free.
func (g *stepper) beginWaiting(w int) {
	x := &g.from.Workers[w]
	if x.Frozen || x.Runs != [MaxJobs]uint8{} {
		return
	}
	for j := range x.Waits {
		if x.Waits[j] == 0 {
			continue
		}
		s := g.from
		y := &s.Workers[w]
		s.Twice = s.Twice || y.Runs[j] > 0 && !g.Loose
		y.Runs[j], y.Waits[j] = y.Waits[j], 0
		g.begin(&s, j)
		g.add(Begin, w, j, s)
	}
}
