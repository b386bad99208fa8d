package job

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// AnswerPath is the prefix of the path of every link. A key follows.
const AnswerPath = "/answer/"

const (
	// MaxLinks is the most valid links of a job.
	MaxLinks = 100
	// LinkFor is the default validity of a link.
	LinkFor = 7 * 24 * time.Hour
	// MaxLinkFor is the longest validity of a link.
	MaxLinkFor = 90 * 24 * time.Hour
	// maxLinkMadeFor is the longest name of the person or system that receives a link, in bytes.
	maxLinkMadeFor = 100
)

// Link is the request for a link. Without a token, its bearer can send one signal to a job, or answer one signal or
// approval of a workflow's run.
type Link struct {
	Name  string        `json:"name" doc:"Of the signal; for an approval the name of its step"`
	For   string        `json:"for,omitempty" doc:"Person or system that it is for; kept with the answer, at most 100 bytes"`
	Valid core.Duration `json:"valid,omitempty" doc:"How long it is valid: 1s to 90 days; default: 7 days"`
}

// NewLink is a created link. Its path is shown once: only a hash of it is stored.
type NewLink struct {
	Name      string    `json:"name"`
	For       string    `json:"for,omitempty"`
	Path      string    `json:"path" doc:"Of the address on this server. Anyone who knows it can answer; shown once"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Unlinked is the result of revoking links.
type Unlinked struct {
	Links int `json:"links" doc:"How many were valid"`
}

// CheckGiven refuses a time of validity that is given as zero: only a missing one means the default. given tells whether a field
// is given.
func (l *Link) CheckGiven(given func(field string) bool) error {
	if l.Valid != 0 || !given("valid") {
		return nil
	}
	return core.InvalidField("valid", "0s", "is not between 1s and "+core.Duration(MaxLinkFor).String(), "leave it out for "+core.Duration(LinkFor).String())
}

// Validate returns the problems of a link as one error, or nil. It sets the default of Valid.
func (l *Link) Validate() error {
	var p core.Problems
	checkStepName(&p, l.Name)
	if len(l.For) > maxLinkMadeFor {
		p.Addf("for", strconv.Itoa(len(l.For))+" bytes", "must have at most %d bytes", maxLinkMadeFor)
	} else {
		title.CheckLine(&p, "for", l.For)
	}
	if l.Valid != 0 && l.Valid.D() < time.Second || l.Valid.D() > MaxLinkFor {
		p.Addf("valid", l.Valid.String(), "is not between 1s and %s", core.Duration(MaxLinkFor))
	} else if l.Valid == 0 {
		l.Valid = core.Duration(LinkFor)
	}
	return p.Err("link")
}
