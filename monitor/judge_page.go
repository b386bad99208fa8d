package monitor

import (
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// pageFailure makes a failure of a look at a page that found nothing to compare: it goes through the verdict like others, and is never a change.
func pageFailure(o Observation) Observation {
	if o.Page == nil || o.Outcome == task.CheckFail || o.Outcome == task.CheckError {
		return o
	}
	switch o.Page.Outcome {
	case task.PageSelectorMissing:
		o.Outcome, o.Code = task.CheckFail, core.Or(o.Code, task.CodeSelectorMissing)
		o.Message = core.Or(o.Message, "nothing on the page matches the selector")
	case task.PageEmpty:
		o.Outcome, o.Code = task.CheckFail, core.Or(o.Code, task.CodeEmpty)
		o.Message = core.Or(o.Message, "what the selector matches has no text")
	}
	return o
}

// page compares what was seen of a page with its baseline. Texts that were read with other settings are not compared: the first of
// the new ones is the baseline, and no alert is sent.
func (h *hearing) page(o Observation) {
	seen, s := o.Page, &h.s
	if seen == nil || seen.Digest == "" {
		return
	}
	switch {
	case s.Baseline == "":
		h.version(o, task.PageFirst, o.At)
		h.rebase(seen.Digest, seen.ConfigHash)
	case s.BaselineHash != seen.ConfigHash:
		h.version(o, task.PageReset, o.At)
		h.rebase(seen.Digest, seen.ConfigHash)
	case seen.Digest == s.Baseline:
		h.settles()
		if h.pinned() {
			s.Reported = "" // it came back: the same change is news again
		}
	case seen.Digest == s.Reported && h.pinned():
		h.settles() // it was told, and waits to be accepted
	default:
		h.differs(o)
	}
}

// unstableLooks are the looks in a row, each unlike the one before, that make a page unstable: no change of it can be confirmed.
const unstableLooks = 5

// settles forgets a change that was not confirmed yet.
func (h *hearing) settles() {
	h.s.Candidate, h.s.CandidateAt, h.s.Unstable, h.s.UnstableRun = "", time.Time{}, false, 0
}

func (h *hearing) pinned() bool {
	return h.m.Check.Page != nil && h.m.Check.Page.Baseline == task.BaselinePinned
}

// differs waits until a change was seen twice, so long apart, before it is one.
func (h *hearing) differs(o Observation) {
	s, seen := &h.s, o.Page
	var confirm time.Duration
	if h.m.Check.Page != nil {
		confirm = max(0, h.m.Check.Page.Confirm.D())
	}
	if s.Candidate != seen.Digest {
		s.Candidate, s.CandidateAt, s.UnstableRun = seen.Digest, o.At, s.UnstableRun+1
	} else {
		s.UnstableRun = 0
	}
	s.Unstable = s.UnstableRun >= unstableLooks
	if o.At.Sub(s.CandidateAt) < confirm {
		if !s.Unstable { // or it would be looked at without end, however seldom it is to be
			h.againAt(h.now.Add(confirm))
		}
		return
	}
	h.version(o, task.PageChanged, s.CandidateAt)
	h.settles()
	if s.Reported != seen.Digest && !h.quiet() {
		n := h.notification(alert.NotificationChanged)
		n.At = h.j.Version.At
		h.j.Notifications = append(h.j.Notifications, n)
	}
	if !h.pinned() {
		h.rebase(seen.Digest, seen.ConfigHash)
	}
	s.Reported = seen.Digest
}

func (h *hearing) version(o Observation, change task.PageChange, at time.Time) {
	seen := o.Page
	h.j.Version = &PageVersion{
		At: at, Digest: seen.Digest, RawDigest: seen.RawDigest, ConfigHash: seen.ConfigHash, Change: change, Size: len(seen.Text), Text: seen.Text,
		Baseline: change != task.PageChanged || !h.pinned(),
	}
	if change == task.PageChanged {
		h.j.Version.Before = h.s.Baseline
	}
}

func (h *hearing) rebase(digest, configHash string) {
	h.s.Baseline, h.s.BaselineHash, h.s.Reported = digest, configHash, ""
	h.settles()
}

// AcceptPage makes a version of a page the baseline.
func AcceptPage(m Monitor, s State, digest, configHash string, now time.Time) Judgement {
	h := hear(m, s, JudgeContext{}, now)
	h.rebase(digest, configHash)
	return Judgement{State: h.s, WakeAt: s.WakeAt}
}
