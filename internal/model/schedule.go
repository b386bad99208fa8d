package model

// schedules adds the steps of the schedule: firing, pausing, resuming, and the consequences of a job's end.
type schedules struct{ *stepper }

// schedule fires, pauses and resumes. Each is one transaction that locks the row of
// the schedule before it reads, and so one step.
func (g schedules) schedule() {
	g.fire()
	if g.Pause && g.from.Schedule.State == Active {
		g.pause()
	}
	if g.Pause && g.from.Schedule.State == Paused {
		g.resume()
	}
	g.lateFollow()
}

// due reports whether a nominal time is due.
func (g schedules) due(s *State) bool {
	x := s.Schedule
	if g.Loop {
		return x.State == Active && (x.When == Past || x.When == Now)
	}
	return x.State == Active && x.Next > 0 && x.Next <= s.Now
}

func (g schedules) fire() {
	if g.has(FireLocksSchedule) && g.has(FireIsOne) {
		if g.due(&g.from) {
			s := g.from
			g.fireOne(&s)
			g.add(Fire, 0, 0, s)
		}
		return
	}
	for n := range g.from.Nodes {
		g.fireInParts(n)
	}
}

// fireInParts is the firing of a node that does not lock the rows that it reads, or
// that advances the schedule first and inserts the results later.
func (g schedules) fireInParts(n int) {
	s := g.from
	node := &s.Nodes[n]
	if node.Phase == Idle {
		if !g.due(&s) {
			return
		}
		*node = Node{Asked, s.Schedule.High, s.Schedule.Next}
		if g.has(FireIsOne) {
			g.add(FireLook, n, 0, s)
			return
		}
		after := s
		g.fireOne(&after)
		s.Schedule = after.Schedule
		g.add(FireMark, n, 0, s)
		return
	}
	*node = Node{}
	g.add(FireDies, n, 0, s)
	s.Schedule.High, s.Schedule.Next, s.Schedule.State = g.from.Nodes[n].High, g.from.Nodes[n].Next, Active
	g.fireOne(&s)
	g.add(Fire, n, 0, s)
}

// fireOne decides every nominal time after the mark, up to now. The latest may run;
// the earlier ones are too late.
func (g schedules) fireOne(s *State) {
	if g.Loop {
		g.fireLoop(s)
		return
	}
	x := &s.Schedule
	latest := min(s.Now, uint8(g.Plan))
	for n := x.High + 1; n < latest; n++ {
		g.decide(s, n, SkippedTime)
	}
	kind := Started
	if g.active(s) > 0 {
		kind = SkippedTime
		if g.Overlap == BufferOne && !s.waits() {
			kind = Buffered
		}
	}
	g.decide(s, latest, kind)
	x.High = latest
	g.plan(s)
}

// waits reports whether a run waits in the buffer.
func (s *State) waits() bool {
	for _, d := range s.Nominals {
		if d.Kind == Buffered {
			return true
		}
	}
	return false
}

// decide writes the decision about a nominal time, unless it has one.
func (g schedules) decide(s *State, n uint8, kind Kind) {
	d := &s.Nominals[n-1]
	if d.Kind != Undecided && g.has(UniqueNominal) {
		return
	}
	d.Kind = kind
	if kind == Started {
		g.start(s, n)
	}
}

// start creates the job of a nominal time.
func (g schedules) start(s *State, n uint8) {
	d := &s.Nominals[n-1]
	d.Kind = Started
	d.Jobs = min(d.Jobs+1, 2)
	s.Jobs[g.Jobs+int(n)-1] = Job{State: Ready}
}

// plan sets the next time, or completes the schedule if none is left.
func (g schedules) plan(s *State) {
	x := &s.Schedule
	x.Next = x.High + 1
	if int(x.Next) > g.Plan {
		x.Next = 0
		if !s.waits() {
			x.State = Completed
		}
	}
}

func (g schedules) fireLoop(s *State) {
	x := &s.Schedule
	again := x.When == Now && x.RanNow // the time has a row already, and gets no job
	if x.When == Now {
		x.RanNow, x.MarkNow = true, true
	}
	x.When = Never
	switch {
	case g.active(s) > 0: // skipped; the run under way leads to the next time
	case again && g.has(UniqueNominal):
	default:
		for j := g.Jobs; j < MaxJobs; j++ {
			if !s.Jobs[j].State.Live() && !s.leased(j) {
				s.Jobs[j] = Job{State: Ready}
				break
			}
		}
	}
}

// fresh returns now as the next time of a loop, but after every decided time.
func (g schedules) fresh(x *Schedule) When {
	if x.MarkNow && g.has(FreshAboveMark) {
		return After
	}
	return Now
}

// pause fires due times, stops the schedule, and ends waiting runs.
func (g schedules) pause() {
	s := g.from
	var waiting uint8
	for j := g.Jobs; j < MaxJobs; j++ {
		if s.Jobs[j].State.Live() && !s.leased(j) {
			waiting |= 1 << j
		}
	}
	if !g.has(PauseLocksFirst) {
		if s.Looking == 0 {
			s.Looking, s.Looked = PauseLook, waiting
			g.add(PauseLook, 0, 0, s)
			return
		}
		waiting, s.Looking, s.Looked = s.Looked, 0, 0
	}
	if g.due(&s) {
		before := s.Jobs
		g.fireOne(&s)
		for j := range s.Jobs {
			if s.Jobs[j] != before[j] {
				waiting |= 1 << j
			}
		}
	}
	x := &s.Schedule
	if x.State == Completed { // nothing left to pause: the transaction is rolled back
		g.add(Pause, 0, 0, g.from)
		return
	}
	x.State, x.Next, x.MarkNow = Paused, 0, true
	if g.Plan > 0 && g.has(PauseMoves) {
		x.High = max(x.High, s.Now)
	}
	if g.has(PauseWithdraws) {
		g.withdraw(&s, waiting)
	}
	g.add(Pause, 0, 0, s)
}

func (g schedules) withdraw(s *State, waiting uint8) {
	for j := range s.Jobs {
		if waiting&(1<<j) == 0 || !s.Jobs[j].State.Live() {
			continue
		}
		as := Skipped
		if s.Jobs[j].Last > 0 {
			as = CanceledJob
		}
		g.end(s, j, as)
	}
	for n := range s.Nominals {
		if s.Nominals[n].Kind == Buffered {
			s.Nominals[n].Kind = SkippedTime
		}
	}
}

// resume continues from now. Times during the pause are skipped.
func (g schedules) resume() {
	s := g.from
	x := &s.Schedule
	x.State = Active
	if g.Loop {
		if g.active(&s) == 0 || x.When != Never || !g.has(ResumeSeesRuns) {
			if x.When < After {
				x.When = g.fresh(x)
			}
		}
		x.MarkNow = true
		g.add(Resume, 0, 0, s)
		return
	}
	if g.has(PauseMoves) {
		for n := x.High + 1; n <= min(s.Now, uint8(g.Plan)); n++ {
			g.decide(&s, n, SkippedTime)
		}
		x.High = max(x.High, s.Now)
	}
	g.plan(&s)
	g.add(Resume, 0, 0, s)
}

// follow decides the consequences of a job's end for its schedule: the next time of
// a loop, and the waiting run. It reads the schedule when that is locked: with an
// earlier read, a concurrent resume and the end could each leave the next run to
// the other.
func (g schedules) follow(s *State, j int) {
	look := s.Looks[j]
	s.Looks[j] = NotLooked
	if !g.has(FollowIsOne) {
		s.Looks[j] = SawYes // left to another transaction
		return
	}
	if look != SawNo {
		g.carryOn(s)
	}
}

// carryOn plans the next run of an active schedule without one.
func (g schedules) carryOn(s *State) {
	x := &s.Schedule
	switch {
	case x.State != Active:
	case g.Loop:
		if x.When == Never && g.active(s) == 0 {
			x.When = NextTick
		}
	default:
		for n := range s.Nominals {
			if s.Nominals[n].Kind == Buffered && g.active(s) == 0 {
				g.start(s, uint8(n+1))
			}
		}
		g.plan(s)
	}
}

// lateFollow writes the consequences of an end in a separate transaction, or by an
// earlier read.
func (g schedules) lateFollow() {
	for j := g.Jobs; j < MaxJobs; j++ {
		if !g.has(FollowIsOne) && g.from.Looks[j] == SawYes {
			s := g.from
			s.Looks[j] = NotLooked
			g.add(FireDies, 0, j, s)
			g.carryOn(&s)
			g.add(Follow, 0, j, s)
		}
		if !g.has(FollowLocksFirst) && g.from.Looks[j] == NotLooked && g.from.Jobs[j].State.Live() {
			s := g.from
			s.Looks[j] = SawNo
			if s.Schedule.State == Active {
				s.Looks[j] = SawYes
			}
			g.add(FollowLook, 0, j, s)
		}
	}
}
