package isolation

import (
	"time"
)

// Limit is one limit and what enforces it.
type Limit struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// By is what enforces the limit: "cgroup v2", "cgroup v1", "rlimit" (for each
	// process), "tmpfs", "watch" (checked periodically, see [scratch.Watch]), or
	// "" if this machine cannot enforce it.
	By string `json:"by,omitempty"`
}

// Limits are the limits of a run. Zero is the default, -1 no limit.
type Limits struct {
	Memory    int64         // bytes, of all its processes with their files in /tmp; default 512 MiB
	PIDs      int64         // processes and threads; default 256
	CPU       float64       // processors, 0.5 is half of one; default no limit
	CPUTime   time.Duration // that one process may use; default no limit
	FileSize  int64         // bytes of one file; default 1 GiB
	OpenFiles int64         // of one process; default 1024
	Tmp       int64         // bytes in its TMPDIR; default 64 MiB
}

const (
	DefaultMemory    = 512 << 20
	DefaultPIDs      = 256
	DefaultFileSize  = 1 << 30
	DefaultOpenFiles = 1024
	DefaultTmp       = 64 << 20
)

func (l Limits) WithDefaults() Limits {
	fill := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&l.Memory, DefaultMemory)
	fill(&l.PIDs, DefaultPIDs)
	fill(&l.FileSize, DefaultFileSize)
	fill(&l.OpenFiles, DefaultOpenFiles)
	fill(&l.Tmp, DefaultTmp)
	return l
}
