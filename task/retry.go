package task

import (
	"math"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Retry is the policy after an attempt that did not succeed. The zero value allows
// three attempts with an exponential backoff from 10 s.
type Retry struct {
	MaxAttempts int           `json:"max_attempts,omitempty" minimum:"0" maximum:"100" doc:"Tries in all, the first included; default: 3; 1 never retries"`
	Backoff     Backoff       `json:"backoff,omitempty" enum:"exponential,linear,fixed" doc:"How the delay grows; default: exponential"`
	Delay       core.Duration `json:"delay,omitempty" doc:"Delay before the first retry; default: 10s"`
	MaxDelay    core.Duration `json:"max_delay,omitempty" doc:"Longest delay; default: 1h"`
	Jitter      float64       `json:"jitter,omitempty" minimum:"-1" maximum:"1" doc:"Part of the delay that is spread at random, 0 to 1; default: 0.2; -1 for none"`
	Infra       int           `json:"infra,omitempty" minimum:"-1" maximum:"100" doc:"Further tries after a fault of the machine: a lost worker, a download that broke; they do not count in max_attempts; default: 0 for most kinds, so that such faults count like others; 3 for programs; -1 for none"`
	OnLost      OnLost        `json:"on_lost,omitempty" enum:"retry,fail" doc:"When the worker was lost and nobody knows how far it came; default: retry"`
}

// Backoff is the growth of the delay from one retry to the next.
type Backoff string

// The delays before retry n (from 1), for a base delay d: d·2ⁿ⁻¹, d·n, and d.
const (
	BackoffExponential Backoff = "exponential"
	BackoffLinear      Backoff = "linear"
	BackoffFixed       Backoff = "fixed"
)

// OnLost is the policy for a job whose worker was lost.
type OnLost string

// The policies: retry the job, or fail it, so that a person decides. Use the
// latter for a job that must not start twice.
const (
	OnLostRetry OnLost = "retry"
	OnLostFail  OnLost = "fail"
)

// MaxRetryDelay is the longest delay of a policy.
const MaxRetryDelay = core.Duration(7 * 24 * time.Hour)

func (r Retry) WithDefaults() Retry {
	r.MaxAttempts = core.Or(r.MaxAttempts, 3)
	r.Backoff = core.Or(r.Backoff, BackoffExponential)
	r.Delay = core.Or(r.Delay, core.Duration(10*time.Second))
	r.MaxDelay = core.Or(r.MaxDelay, core.Duration(time.Hour))
	r.MaxDelay = max(r.MaxDelay, r.Delay)
	r.Jitter = core.Or(r.Jitter, 0.2)
	r.OnLost = core.Or(r.OnLost, OnLostRetry)
	return r
}

func (r Retry) validate() error {
	var p core.Problems
	if r.MaxAttempts < 1 || r.MaxAttempts > 100 {
		p.Addf("max_attempts", r.MaxAttempts, "is outside 1 to 100")
	}
	switch r.Backoff {
	case BackoffExponential, BackoffLinear, BackoffFixed:
	default:
		p.Add("backoff", string(r.Backoff), "is not a backoff", "one of exponential, linear, fixed")
	}
	if r.Infra < -1 || r.Infra > 100 {
		p.Addf("infra", r.Infra, "is outside -1 to 100")
	}
	if r.Delay < 0 || r.Delay > MaxRetryDelay {
		p.Addf("delay", r.Delay, "is outside 0s to %s", MaxRetryDelay)
	}
	if r.MaxDelay < 0 || r.MaxDelay > MaxRetryDelay {
		p.Addf("max_delay", r.MaxDelay, "is outside 0s to %s", MaxRetryDelay)
	}
	if math.IsNaN(r.Jitter) || r.Jitter != -1 && (r.Jitter < 0 || r.Jitter > 1) {
		p.Addf("jitter", r.Jitter, "is outside 0 to 1 (or -1 for none)")
	}
	if r.OnLost != OnLostRetry && r.OnLost != OnLostFail {
		p.Add("on_lost", string(r.OnLost), "is not an answer to a lost worker", "one of retry, fail")
	}
	return p.Err("retry")
}

// After returns the delay before the next attempt of a job with that many failed
// attempts. The jitter is a hash of job and attempt, so that the instant is the
// same when it is computed again after a crash.
func (r Retry) After(job int64, failures int) time.Duration {
	n := float64(max(failures, 1))
	d := float64(r.Delay)
	switch r.Backoff {
	case BackoffLinear:
		d *= n
	case BackoffExponential:
		d *= math.Pow(2, n-1)
	}
	return r.spread(job, failures, time.Duration(min(d, float64(r.MaxDelay))))
}

// faultDelays are the shortest delays after faults of the machine other than a lost worker. Further retries use the last one.
// So the retries of a program outlast an outage of some minutes, for example of the artifact storage.
var faultDelays = []time.Duration{0, time.Minute, 3 * time.Minute, 5 * time.Minute}

// AfterFault returns the delay before the next attempt after that many faults of the machine. The first retry after a lost
// worker is due at once, because its session has been waited for already. After other faults the delay grows to five
// minutes, or to MaxDelay if that is shorter.
func (r Retry) AfterFault(job int64, faults int, lost bool) time.Duration {
	if lost && faults == 1 {
		return 0
	}
	d := r.After(job, faults)
	if !lost {
		d = max(d, r.spread(job, faults, min(faultDelays[min(max(faults, 1), len(faultDelays))-1], r.MaxDelay.D())))
	}
	return d
}

// spread subtracts the jitter of an attempt from a delay.
func (r Retry) spread(job int64, try int, d time.Duration) time.Duration {
	if r.Jitter > 0 {
		d = time.Duration(float64(d) * (1 - r.Jitter*core.Spread(strconv.FormatInt(job, 10), int64(try))))
	}
	return d.Truncate(time.Microsecond)
}
