package history

// sessions checks that a session which was told of its end gets no jobs, and that its results are not accepted.
func (c *checker) sessions() {
	over := map[string]*Operation{}
	for _, o := range c.h.Operations {
		if o.Type != OK || !(o.Op == OpRenew && o.Result.Lost || o.Op == OpCloseSession) {
			continue
		}
		if was := over[o.Args.Session]; was == nil || o.Ended < was.Ended {
			over[o.Args.Session] = o
		}
	}
	for _, o := range c.h.Operations {
		end := over[o.Args.Session]
		if end == nil || o.Type != OK || o.Invoked <= end.Ended {
			continue
		}
		for _, got := range o.Result.Jobs {
			switch {
			case o.Op == OpClaim:
				c.blame(got.ID, PromiseStale, []int{end.EndLine, o.Line, o.EndLine}, "was claimed by session %s, which was over", o.Args.Session)
			case o.Op == OpFinish && !got.Stale:
				c.blame(got.ID, PromiseStale, []int{end.EndLine, o.Line, o.EndLine}, "a finish under lease %d was accepted from session %s, which was over", got.Lease, o.Args.Session)
			}
		}
	}
}
