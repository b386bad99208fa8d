package access

import (
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/internal/size"
)

// quotaFlags are the flags of quotas. Quotas without a flag stay unchanged.
type quotaFlags struct {
	access.Quota
	artifacts, outputs, logs string
}

func (q *quotaFlags) add(fs *pflag.FlagSet) {
	fs.IntVar(&q.Waiting, access.QuotaFlag(access.QuotaWaiting), 0, "most jobs that have not ended and do not run; 0: no limit")
	fs.StringVar(&q.EnqueueRate, access.QuotaFlag(access.QuotaEnqueueRate), "", "most jobs that are enqueued in a length of time, such as 100/1m; empty: no limit")
	fs.StringVar(&q.CallRate, access.QuotaFlag(access.QuotaCallRate), "", "most calls of the API by tokens of the namespace in a length of time, on each node, such as 1000/1m; empty: no limit")
	fs.IntVar(&q.CallBurst, "call-burst", 0, "how many of the rate may come at once after a rest; 0: as many as the rate names")
	fs.IntVar(&q.EnqueueBurst, "enqueue-burst", 0, "how many of the rate may be enqueued at once after a rest; 0: as many as the rate names")
	fs.IntVar(&q.Definitions, access.QuotaFlag(access.QuotaDefinitions), 0, "most tasks, schedules, calendars, channels, alert rules, windows and status pages together; 0: no limit")
	fs.IntVar(&q.Monitors, access.QuotaFlag(access.QuotaMonitors), 0, "most monitors; 0: no limit")
	fs.StringVar(&q.artifacts, access.QuotaFlag(access.QuotaArtifactBytes), "", "most bytes of uploaded artifacts, such as 10GiB; 0: no limit")
	fs.StringVar(&q.outputs, access.QuotaFlag(access.QuotaOutputBytes), "", "most bytes of output files of jobs, such as 10GiB; 0: no limit")
	fs.StringVar(&q.logs, access.QuotaFlag(access.QuotaLogBytes), "", "most bytes of logs of jobs, such as 10GiB; 0: no limit")
}

// each maps each flag to the function that sets its quota.
func (q *quotaFlags) each(to *access.Quota) map[string]func() {
	return map[string]func(){
		access.QuotaFlag(access.QuotaWaiting): func() { to.Waiting = q.Waiting },
		access.QuotaFlag(access.QuotaEnqueueRate): func() {
			to.EnqueueRate, to.EnqueueBurst = q.EnqueueRate, q.EnqueueBurst
		},
		access.QuotaFlag(access.QuotaCallRate): func() {
			to.CallRate, to.CallBurst = q.CallRate, q.CallBurst
		},
		"call-burst":    func() { to.CallBurst = q.CallBurst },
		"enqueue-burst": func() { to.EnqueueBurst = q.EnqueueBurst },

		access.QuotaFlag(access.QuotaDefinitions):   func() { to.Definitions = q.Definitions },
		access.QuotaFlag(access.QuotaMonitors):      func() { to.Monitors = q.Monitors },
		access.QuotaFlag(access.QuotaArtifactBytes): func() { to.ArtifactBytes = q.ArtifactBytes },
		access.QuotaFlag(access.QuotaOutputBytes):   func() { to.OutputBytes = q.OutputBytes },
		access.QuotaFlag(access.QuotaLogBytes):      func() { to.LogBytes = q.LogBytes },
	}
}

func (q *quotaFlags) given(changed func(string) bool) bool {
	for name := range q.each(&access.Quota{}) {
		if changed(name) {
			return true
		}
	}
	return false
}

func (q *quotaFlags) apply(changed func(string) bool, to *access.Quota) (err error) {
	for _, bytes := range []struct {
		quota, text string
		to          *int64
	}{
		{access.QuotaArtifactBytes, q.artifacts, &q.ArtifactBytes},
		{access.QuotaOutputBytes, q.outputs, &q.OutputBytes},
		{access.QuotaLogBytes, q.logs, &q.LogBytes},
	} {
		if flag := access.QuotaFlag(bytes.quota); changed(flag) {
			if *bytes.to, err = size.Parse(flag, bytes.text); err != nil {
				return err
			}
		}
	}
	for name, set := range q.each(to) {
		if changed(name) {
			set()
		}
	}
	return nil
}
