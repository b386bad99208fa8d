package monitor

import (
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// pageFailure turns a page check that found nothing to compare into a failure, which affects the verdict and is never a change.
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

// applyPage compares the text of a page with its baseline. Texts that were read with other settings are not compared: the first text
// with the new settings becomes the baseline, without an alert.
func (a *assessment) applyPage(o Observation) {
	seen, s := o.Page, &a.s
	if seen == nil || seen.Digest == "" {
		return
	}
	switch {
	case s.Baseline == "":
		a.recordVersion(o, task.PageFirst, o.At)
		a.setBaseline(seen.Digest, seen.ConfigHash)
	case s.BaselineHash != seen.ConfigHash:
		a.recordVersion(o, task.PageReset, o.At)
		a.setBaseline(seen.Digest, seen.ConfigHash)
	case seen.Digest == s.Baseline:
		a.forgetCandidate()
		if a.baselinePinned() {
			s.Reported = "" // the baseline is back, so the same change would be reported again
		}
	case seen.Digest == s.Reported && a.baselinePinned():
		a.forgetCandidate() // the change was reported and waits to be accepted
	default:
		a.applyDifference(o)
	}
}

// unstableChecks is the number of checks in a row with different texts that make a page unstable: no change can be confirmed.
const unstableChecks = 5

// forgetCandidate forgets an unconfirmed change.
func (a *assessment) forgetCandidate() {
	a.s.Candidate, a.s.CandidateAt, a.s.Unstable, a.s.UnstableRun = "", time.Time{}, false, 0
}

func (a *assessment) baselinePinned() bool {
	return a.m.Check.Page != nil && a.m.Check.Page.Baseline == task.BaselinePinned
}

// applyDifference confirms a change that was seen twice, the set time apart.
func (a *assessment) applyDifference(o Observation) {
	s, seen := &a.s, o.Page
	var confirm time.Duration
	if a.m.Check.Page != nil {
		confirm = max(0, a.m.Check.Page.Confirm.D())
	}
	if s.Candidate != seen.Digest {
		s.Candidate, s.CandidateAt, s.UnstableRun = seen.Digest, o.At, s.UnstableRun+1
	} else {
		s.UnstableRun = 0
	}
	s.Unstable = s.UnstableRun >= unstableChecks
	if o.At.Sub(s.CandidateAt) < confirm {
		if !s.Unstable { // otherwise extra checks would never end, whatever the interval
			a.requestCheckAt(a.now.Add(confirm))
		}
		return
	}
	a.recordVersion(o, task.PageChanged, s.CandidateAt)
	a.forgetCandidate()
	if s.Reported != seen.Digest && !a.holdsStarts() {
		n := a.notification(alert.NotificationChanged)
		n.At = a.j.Version.At
		a.j.Notifications = append(a.j.Notifications, n)
	}
	if !a.baselinePinned() {
		a.setBaseline(seen.Digest, seen.ConfigHash)
	}
	s.Reported = seen.Digest
}

func (a *assessment) recordVersion(o Observation, change task.PageChange, at time.Time) {
	seen := o.Page
	a.j.Version = &PageVersion{
		At: at, Digest: seen.Digest, RawDigest: seen.RawDigest, ConfigHash: seen.ConfigHash, Change: change, Size: len(seen.Text), Text: seen.Text,
		Baseline: change != task.PageChanged || !a.baselinePinned(),
	}
	if change == task.PageChanged {
		a.j.Version.Before = a.s.Baseline
	}
}

func (a *assessment) setBaseline(digest, configHash string) {
	a.s.Baseline, a.s.BaselineHash, a.s.Reported = digest, configHash, ""
	a.forgetCandidate()
}

// AcceptPage makes a version of a page the baseline.
func AcceptPage(m Monitor, s State, digest, configHash string, now time.Time) Judgement {
	a := newAssessment(m, s, JudgeContext{}, now)
	a.setBaseline(digest, configHash)
	return Judgement{State: a.s, WakeAt: s.WakeAt}
}
