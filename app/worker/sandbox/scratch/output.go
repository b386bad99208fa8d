package scratch

// OutputLimits bound what is read of a program's folder. Zero is the default.
type OutputLimits struct {
	Entries int   // files, folders and everything else that is looked at; default 1000
	Bytes   int64 // of all files together; default 1 GiB
	Depth   int   // of folders in folders; default 16
}

// The defaults of OutputLimits.
const (
	defaultEntries = 1000
	defaultOutput  = 1 << 30
	defaultDepth   = 16
)

func (l OutputLimits) withDefaults() OutputLimits {
	if l.Entries == 0 {
		l.Entries = defaultEntries
	}
	if l.Bytes == 0 {
		l.Bytes = defaultOutput
	}
	if l.Depth == 0 {
		l.Depth = defaultDepth
	}
	return l
}

// Left is what was found in a program's folder.
type Left struct {
	Files int   `json:"files"` // that were taken
	Bytes int64 `json:"bytes"`
	// Skipped is what was not taken, and why. Never more than OutputLimits.Entries.
	Skipped []Skipped `json:"skipped,omitempty"`
	// Truncated tells that there is more, which a limit kept from being looked at or taken.
	Truncated bool `json:"truncated,omitempty"`
}

// Skipped is an entry of a folder that is no output.
type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}
