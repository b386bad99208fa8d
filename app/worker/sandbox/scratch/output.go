package scratch

// OutputLimits limit what is read of a program's folder. Zero is the default.
type OutputLimits struct {
	Entries int   // files, folders and other entries; default 1000
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

// Left describes the content of a program's folder.
type Left struct {
	Files int   `json:"files"` // number of taken files
	Bytes int64 `json:"bytes"`
	// Skipped are the entries that were not taken, and why. At most OutputLimits.Entries.
	Skipped []Skipped `json:"skipped,omitempty"`
	// Truncated reports that there are more entries, which were not read because of a limit.
	Truncated bool `json:"truncated,omitempty"`
}

// Skipped is an entry of a folder that is not an output.
type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}
