package history

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// window is how long a key is remembered by default, in microseconds.
const window = int64(24 * time.Hour / time.Microsecond)

// idempotencyKeys checks that a key has one job within its window.
func (c *checker) idempotencyKeys() {
	type made struct {
		id       int64
		at       part
		at0, at1 int64 // earliest and latest time of its creation
	}
	by := map[string][]made{}
	for _, id := range slices.Sorted(maps.Keys(c.stories)) {
		for _, p := range c.stories[id].acks {
			if p.args.Key != "" {
				by[p.args.Key] = append(by[p.args.Key], made{id, p, p.Invoked, p.Ended})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		list := by[key]
		slices.SortStableFunc(list, func(a, b made) int { return cmp.Compare(a.at1, b.at1) })
		first := list[0]
		for _, m := range list[1:] {
			within := m.at1-first.at0 < cmp.Or(first.at.args.KeyWindow, window)
			if m.id != first.id && within {
				c.blame(m.id, PromiseKey, []int{first.at.EndLine, m.at.EndLine}, "key %q was accepted twice: its job is %d already", key, first.id)
				break
			}
			if m.id != first.id {
				first = m
			}
		}
	}
	c.recordedKeys()
}

// recordedKeys finds two recorded jobs of a key, even if clients got at most one. All calls for the key must be within the window.
func (c *checker) recordedKeys() {
	by := map[string]At[Job]{}
	for _, j := range c.h.Jobs {
		key := j.V.Key
		if key == "" {
			continue
		}
		other, twice := by[key]
		by[key] = j
		if !twice || other.V.ID == j.V.ID || c.blamed[j.V.ID] || c.blamed[other.V.ID] || len(c.keys[key]) == 0 {
			continue
		}
		first, last, span := never, int64(0), never
		at := []int{other.Line, j.Line}
		for _, o := range c.keys[key] {
			first, last, at = min(first, o.Invoked), max(last, o.Invoked), append(at, o.Line)
			if o.Ended != never {
				last = max(last, o.Ended)
			}
			for _, a := range o.Args.Jobs {
				if a.Key == key {
					span = min(span, cmp.Or(a.KeyWindow, window))
				}
			}
		}
		if last-first < span {
			c.blame(j.V.ID, PromiseKey, at, "key %q has a second job %d in the record", key, other.V.ID)
		}
	}
}

// life is a period in which a job was certainly live.
type life struct {
	id         int64
	from, to   int64
	fromL, toL int
	madeFrom   int64 // earliest time of its creation
	madeTo     int64
}

// activeKeys checks that no job is created under an active key while another is certainly live.
func (c *checker) activeKeys() {
	by := map[string][]life{}
	for _, id := range slices.Sorted(maps.Keys(c.stories)) {
		if key, l, ok := c.stories[id].life(); ok {
			by[key] = append(by[key], l)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		for _, a := range by[key] {
			for _, b := range by[key] {
				if a.id != b.id && a.from < b.madeFrom && b.madeTo < a.to {
					c.blame(b.id, PromiseActiveKey, []int{a.fromL, a.toL, b.fromL}, "was made under active key %q while job %d lived", key, a.id)
				}
			}
		}
	}
}

// life returns the active key of a job and the period in which it was certainly live: from its acknowledgement as new to the
// last start, read or claim that shows it live. After a retry by hand the period is unknown.
func (s *story) life() (key string, l life, ok bool) {
	for _, p := range s.acks {
		if p.args.ActiveKey != "" && !p.got.Existing {
			key = p.args.ActiveKey
			l = life{id: s.id, from: p.Ended, fromL: p.EndLine, to: p.Ended, madeFrom: p.Invoked, madeTo: p.Ended}
		}
	}
	if key == "" {
		return "", l, false
	}
	see := func(at int64, line int) {
		if at > l.to {
			l.to, l.toL = at, line
		}
	}
	for _, p := range s.claims {
		see(p.Invoked, p.EndLine)
	}
	for _, p := range s.asked {
		switch {
		case p.Op == OpRetry && p.Type != Fail:
			return "", l, false
		case p.Op == OpRead && p.Type == OK && !final(p.got.State) && p.got.State != "not_found":
			see(p.Invoked, p.EndLine)
		}
	}
	for _, p := range s.acks {
		if p.got.Existing && p.args.ActiveKey == key {
			see(p.Invoked, p.EndLine)
		}
	}
	return key, l, true
}

// pauses checks that no claim gets jobs of a paused queue: it begins after the pause was acknowledged, and is answered before
// a resume was requested.
func (c *checker) pauses() {
	by := map[string][]*Operation{} // pauses and resumes that may have taken effect, by queue
	for _, o := range c.h.Operations {
		if o.Op == OpPauseQueue && o.Type == OK || o.Op == OpResumeQueue && o.Type != Fail {
			by[o.Args.Name] = append(by[o.Args.Name], o)
		}
	}
	for _, o := range c.h.Operations {
		if o.Op != OpClaim || o.Type != OK {
			continue
		}
		for _, got := range o.Result.Jobs {
			s := c.stories[got.ID]
			if s.record == nil {
				continue
			}
			if pause := pausedAt(by[s.record.V.Queue], o); pause != nil {
				c.blame(got.ID, PromisePause, []int{pause.EndLine, o.Line, o.EndLine}, "was claimed from queue %s while it was paused", s.record.V.Queue)
			}
		}
	}
}

// pausedAt returns the pause of a queue that a claim must respect, or nil.
func pausedAt(ops []*Operation, claim *Operation) (pause *Operation) {
	for _, o := range ops {
		if o.Op == OpPauseQueue && o.Ended < claim.Invoked && (pause == nil || o.Ended > pause.Ended) {
			pause = o
		}
	}
	for _, o := range ops {
		if o.Op == OpResumeQueue && pause != nil && o.Ended >= pause.Invoked && o.Invoked < claim.Ended {
			return nil
		}
	}
	return pause
}

// batches checks that a batch whose answer was lost was created completely or not at all, as far as its unique keys show it.
func (c *checker) batches() {
	if !c.h.complete(KindJob) {
		return
	}
	has := map[string]bool{}
	for _, j := range c.h.Jobs {
		has[j.V.Key] = true
	}
	for _, o := range c.h.Operations {
		if o.Op != OpEnqueue || o.Type != Unknown {
			continue
		}
		made, missing := "", ""
		for _, a := range o.Args.Jobs {
			switch {
			case a.Key == "" || len(c.keys[a.Key]) != 1:
			case has[a.Key]:
				made = a.Key
			default:
				missing = a.Key
			}
		}
		if made != "" && missing != "" {
			c.broken(PromiseAcked, []int{o.Line, c.h.Lines}, "of one batch, the job with key %q exists, and the job with key %q does not", made, missing)
		}
	}
}
