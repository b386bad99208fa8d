package model

import (
	"strconv"
	"strings"
)

// Act is one event: a verb, its actor, and its job.
type Act struct {
	Verb     Verb
	Who, Job uint8
}

// Verb is the kind of an act.
type Verb uint8

// The verbs. Actions of people and failures come first; promises of progress must
// not depend on them. From Tick on, the system acts by itself.
const (
	Crash Verb = iota
	Stall
	Close
	ClaimDies
	LoseClaim
	LoseRenew
	FinishAgain
	Fail
	HandBack
	LoseLease
	Cancel
	Ask
	Pause
	Resume
	FireDies

	Tick
	Open
	Wake
	GiveUp
	ClaimLook
	Claim
	ClaimNone
	Receive
	RenewSend
	Renew
	RenewEmpty
	Renewed
	Succeed
	FinishLook
	Finish
	ReleaseLook
	Release
	Promote
	CancelLook
	PauseLook
	FireLook
	FireMark
	Fire
	FollowLook
	Follow
	Begin
)

var verbs = map[Verb]string{
	Crash: "worker {w} crashes", Stall: "worker {w} freezes", Close: "worker {w} leaves",
	ClaimDies: "the claim of worker {w} is rolled back", LoseClaim: "the answer to worker {w}'s claim is lost",
	LoseRenew: "the renewal of worker {w} is lost", FinishAgain: "worker {w}'s finish of job {j} arrives, and its answer is lost",
	Fail: "worker {w} fails at job {j}", HandBack: "worker {w} hands job {j} back", LoseLease: "the lease of job {j} is lost",
	Cancel: "somebody cancels job {j}", Ask: "somebody asks for job {j} anew", Pause: "somebody pauses", Resume: "somebody resumes", FireDies: "node {w} dies while it fires",
	Tick: "a tick", Open: "worker {w} opens a session", Wake: "worker {w} goes on", GiveUp: "worker {w} hears that its session is over",
	ClaimLook: "the claim of worker {w} looks", Claim: "worker {w} claims", ClaimNone: "worker {w}'s claim ends with nothing",
	Receive: "worker {w} gets what it claimed", RenewSend: "worker {w} sends a renewal", Renew: "worker {w}'s renewal arrives",
	RenewEmpty: "worker {w} renews and names nothing", Renewed: "worker {w} hears of its renewal", Succeed: "worker {w} is done with job {j}",
	FinishLook: "worker {w}'s finish of job {j} looks", Finish: "worker {w}'s finish of job {j} arrives", ReleaseLook: "release looks",
	Release: "release", Promote: "promote", CancelLook: "the cancel of job {j} looks", PauseLook: "the pause looks",
	FireLook: "node {w} sees a due schedule", FireMark: "node {w} advances the schedule", Fire: "node {w} fires",
	FollowLook: "the end of job {j} looks at the schedule", Follow: "what follows from an end is written", Begin: "worker {w} begins job {j}",
}

func (a Act) String() string {
	return strings.NewReplacer("{w}", strconv.Itoa(int(a.Who)+1), "{j}", strconv.Itoa(int(a.Job)+1)).Replace(verbs[a.Verb])
}

// Own reports whether the act is one of the system itself.
func (a Act) Own() bool { return a.Verb >= Tick }

// Outcome is how an attempt ends.
type Outcome uint8

// The outcomes.
const (
	NoOutcome Outcome = iota
	OK
	Error
	HandedBack
	Canceled
	Lost
)
