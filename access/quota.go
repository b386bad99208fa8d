package access

import (
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
)

// Quota is how much a namespace may use. The zero value of a field is no limit.
type Quota struct {
	Waiting      int    `json:"waiting,omitempty" minimum:"0" maximum:"1000000" doc:"Most jobs that have not ended and do not run; default: no limit"`
	EnqueueRate  string `json:"enqueue_rate,omitempty" doc:"Most jobs that are enqueued in a length of time, such as 100/1m; default: no limit"`
	EnqueueBurst int    `json:"enqueue_burst,omitempty" minimum:"0" maximum:"100000" doc:"How many of the rate may be enqueued at once after a rest; default: as many as the rate names"`

	CallRate  string `json:"call_rate,omitempty" doc:"Most calls of the API in a length of time by tokens of the namespace, on each node, such as 1000/1m; workers are not counted; default: no limit"`
	CallBurst int    `json:"call_burst,omitempty" minimum:"0" maximum:"100000" doc:"How many of the rate may come at once after a rest; default: as many as the rate names"`

	Definitions   int   `json:"definitions,omitempty" minimum:"0" maximum:"1000000" doc:"Most tasks, schedules, calendars, channels, alert rules, maintenance windows and status pages together; default: no limit"`
	Monitors      int   `json:"monitors,omitempty" minimum:"0" maximum:"1000000" doc:"Most monitors; default: no limit"`
	ArtifactBytes int64 `json:"artifact_bytes,omitempty" minimum:"0" doc:"Most bytes of uploaded artifacts; default: no limit"`
	OutputBytes   int64 `json:"output_bytes,omitempty" minimum:"0" doc:"Most bytes of output files of jobs; default: no limit"`
	LogBytes      int64 `json:"log_bytes,omitempty" minimum:"0" doc:"Most bytes of logs of jobs; default: no limit"`
}

// Bounds of quotas.
const (
	MaxQuotaWaiting     = 1_000_000
	MaxQuotaDefinitions = 1_000_000
	MaxQuotaBytes       = 1 << 50
)

// Names of quotas, as errors, metrics and answers have them. They are the names of their fields.
const (
	QuotaWaiting     = "waiting"
	QuotaEnqueueRate = "enqueue_rate"
	QuotaCallRate    = "call_rate"

	QuotaDefinitions   = "definitions"
	QuotaMonitors      = "monitors"
	QuotaArtifactBytes = "artifact_bytes"
	QuotaOutputBytes   = "output_bytes"
	QuotaLogBytes      = "log_bytes"
)

// IsZero reports that nothing is limited.
func (q Quota) IsZero() bool { return q == Quota{} }

// OfJobs reports that new jobs are limited.
func (q Quota) OfJobs() bool { return q.Waiting > 0 || q.EnqueueRate != "" }

// OfDefinitions reports that the number of definitions is limited.
func (q Quota) OfDefinitions() bool {
	return q.Definitions > 0 || q.Monitors > 0 || q.ArtifactBytes > 0 || q.OutputBytes > 0
}

// WithDefaults fills empty fields.
func (q Quota) WithDefaults() Quota {
	if n, _, err := flow.ParseRate(q.EnqueueRate); err == nil {
		q.EnqueueBurst = core.Or(q.EnqueueBurst, min(n, flow.MaxBurst))
	}
	if n, _, err := flow.ParseRate(q.CallRate); err == nil {
		q.CallBurst = core.Or(q.CallBurst, min(n, flow.MaxBurst))
	}
	return q
}

// Check adds the problems of a quota that has its defaults.
func (q Quota) Check(p *core.Problems) {
	checkCount(p, "quota.waiting", int64(q.Waiting), MaxQuotaWaiting)
	checkCount(p, "quota.definitions", int64(q.Definitions), MaxQuotaDefinitions)
	checkCount(p, "quota.monitors", int64(q.Monitors), MaxQuotaDefinitions)
	checkCount(p, "quota.artifact_bytes", q.ArtifactBytes, MaxQuotaBytes)
	checkCount(p, "quota.output_bytes", q.OutputBytes, MaxQuotaBytes)
	checkCount(p, "quota.log_bytes", q.LogBytes, MaxQuotaBytes)
	checkRate(p, "quota.enqueue_rate", q.EnqueueRate, "quota.enqueue_burst", q.EnqueueBurst)
	checkRate(p, "quota.call_rate", q.CallRate, "quota.call_burst", q.CallBurst)
}

func checkCount(p *core.Problems, field string, n, most int64) {
	if n < 0 || n > most {
		p.Add(field, strconv.FormatInt(n, 10), fmt.Sprintf("is outside 0 to %d", most), "0 is no limit")
	}
}

func checkRate(p *core.Problems, field, rate, burstField string, burst int) {
	if rate != "" {
		if _, _, err := flow.ParseRate(rate); err != nil {
			p.Add(field, rate, err.Error(), "such as 100/1m; leave it out for no limit")
		}
	}
	switch {
	case rate == "" && burst != 0:
		p.Add(burstField, strconv.Itoa(burst), "needs a rate", "give "+field+", such as 100/1m")
	case burst < 0 || burst > flow.MaxBurst:
		p.Addf(burstField, burst, "is outside 1 to %d", flow.MaxBurst)
	}
}

// EnqueuePace is the rate of enqueue as it is counted; zero for none.
func (q Quota) EnqueuePace() job.Pace { return paceOf(q.EnqueueRate, q.EnqueueBurst) }

// CallPace is the rate of calls as it is counted; zero for none.
func (q Quota) CallPace() job.Pace { return paceOf(q.CallRate, q.CallBurst) }

func paceOf(rate string, burst int) job.Pace {
	n, per, err := flow.ParseRate(rate)
	if err != nil {
		return job.Pace{}
	}
	return job.PaceOf(n, per, burst)
}

// QuotaUse is how much of one quota a namespace uses.
type QuotaUse struct {
	Quota string `json:"quota" doc:"Name of its field, such as waiting"`
	Limit int64  `json:"limit" doc:"0: no limit"`
	Used  int64  `json:"used" doc:"Of a rate: how many of its burst are used up now"`
}

// Text is the use for people: 5 of 10.
func (u QuotaUse) Text() string {
	if OfBytes(u.Quota) {
		return core.SizeText(u.Used) + " of " + core.ExactSize(u.Limit)
	}
	return fmt.Sprintf("%d of %d", u.Used, u.Limit)
}

// OfBytes reports that a quota counts bytes.
func OfBytes(quota string) bool {
	return quota == QuotaArtifactBytes || quota == QuotaOutputBytes || quota == QuotaLogBytes
}

// Limits are the quotas that are set, for people.
func (q Quota) Limits() (texts []string) {
	if q.Waiting > 0 {
		texts = append(texts, fmt.Sprintf("waiting %d", q.Waiting))
	}
	if q.EnqueueRate != "" {
		texts = append(texts, fmt.Sprintf("enqueue rate %s in bursts of %d", q.EnqueueRate, q.EnqueueBurst))
	}
	if q.CallRate != "" {
		texts = append(texts, fmt.Sprintf("calls %s in bursts of %d", q.CallRate, q.CallBurst))
	}
	if q.Definitions > 0 {
		texts = append(texts, fmt.Sprintf("definitions %d", q.Definitions))
	}
	if q.Monitors > 0 {
		texts = append(texts, fmt.Sprintf("monitors %d", q.Monitors))
	}
	if q.ArtifactBytes > 0 {
		texts = append(texts, "artifacts "+core.ExactSize(q.ArtifactBytes))
	}
	if q.OutputBytes > 0 {
		texts = append(texts, "output files "+core.ExactSize(q.OutputBytes))
	}
	if q.LogBytes > 0 {
		texts = append(texts, "logs "+core.ExactSize(q.LogBytes))
	}
	return texts
}

// Over is the error of a request for asked more, beside used, under a quota of limit. wait is the time until a new try may
// succeed; 0 if it is unknown. If waiting alone does not help, the error names no time.
func (n Namespace) Over(quota string, limit, used, asked int64, wait time.Duration) *core.Error {
	e := core.Errorf(core.OverQuota, "namespace %q is over its quota %s: %d of %d in use, %d more asked for", n.Name, quota, used, limit, asked)
	if asked <= limit && quota != QuotaArtifactBytes && quota != QuotaDefinitions && quota != QuotaMonitors {
		e.RetryAfter = core.Duration(max(wait, time.Second))
	}
	switch {
	case OfBytes(quota):
		e.Message = fmt.Sprintf("namespace %q is over its quota %s: it would have %s of %s", n.Name, quota, core.SizeText(used), core.ExactSize(limit))
		if quota != QuotaArtifactBytes {
			return e.WithHint("wait until retention removes older ones, or have an admin of the installation raise it: %s", n.raise(quota))
		}
	case asked > limit:
		return e.WithHint("ask for at most %d at once, or have an admin of the installation raise it: %s", limit, n.raise(quota))
	case quota == QuotaEnqueueRate || quota == QuotaCallRate:
		rate := n.Quota.EnqueueRate
		if quota == QuotaCallRate {
			rate = n.Quota.CallRate
		}
		e.Message = fmt.Sprintf("namespace %q is over its quota %s: %s, bursts of %d", n.Name, quota, rate, limit)
		return e.WithHint("wait %s, or have an admin of the installation raise it: %s", core.Duration(wait.Round(time.Millisecond)), n.raise(quota))
	case quota == QuotaWaiting:
		return e.WithHint("wait until jobs have ended, or have an admin of the installation raise it: %s", n.raise(quota))
	}
	return e.WithHint("delete some first, or have an admin of the installation raise it: %s", n.raise(quota))
}

// raise is the command that raises a quota.
func (n Namespace) raise(quota string) string {
	return "belfry namespace set " + n.Name + " --" + QuotaFlag(quota) + " …"
}

// QuotaFlag is the flag of a quota's field on the command line.
func QuotaFlag(quota string) string {
	b := []byte("max-" + quota)
	if quota == QuotaEnqueueRate || quota == QuotaCallRate {
		b = []byte(quota)
	}
	for i := range b {
		if b[i] == '_' {
			b[i] = '-'
		}
	}
	return string(b)
}
