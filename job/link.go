package job

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
)

// AnswerPath begins the path of every link. A key follows.
const AnswerPath = "/answer/"

const (
	// MaxLinks bounds the links of a job that are valid.
	MaxLinks = 100
	// LinkFor is how long a link is valid, unless it says.
	LinkFor = 7 * 24 * time.Hour
	// MaxLinkFor bounds how long it may be.
	MaxLinkFor = 90 * 24 * time.Hour
	// maxLinkMadeFor bounds the name of the person or system that a link is for, in bytes.
	maxLinkMadeFor = 100
)

// Link is asked for: an address at which one signal to a job is sent without a token, or one signal or approval of a
// workflow's run is answered.
type Link struct {
	Name  string        `json:"name" doc:"Of the signal; for an approval the name of its step"`
	For   string        `json:"for,omitempty" doc:"Person or system that it is for; kept with the answer, at most 100 bytes"`
	Valid core.Duration `json:"valid,omitempty" doc:"How long it is valid. Default: 7 days; at most 90 days"`
}

// NewLink is a link that was made. Its path is shown once: only a hash of it is kept.
type NewLink struct {
	Name      string    `json:"name"`
	For       string    `json:"for,omitempty"`
	Path      string    `json:"path" doc:"Of the address on this server. Anyone who knows it can answer; shown once"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Unlinked is the answer when links are taken back.
type Unlinked struct {
	Links int `json:"links" doc:"How many were valid"`
}

// Validate says what is wrong with a link, and sets how long it is valid.
func (l *Link) Validate() error {
	var p core.Problems
	checkStepName(&p, l.Name)
	if clean, cut := core.CleanText(l.For, maxLinkMadeFor); cut || clean != l.For {
		p.Addf("for", strconv.Itoa(len(l.For))+" bytes", "is not plain text of at most %d bytes", maxLinkMadeFor)
	}
	if l.Valid != 0 && l.Valid.D() < time.Second || l.Valid.D() > MaxLinkFor {
		p.Addf("valid", l.Valid.String(), "is not between 1s and %s", core.Duration(MaxLinkFor))
	} else if l.Valid == 0 {
		l.Valid = core.Duration(LinkFor)
	}
	return p.Err("link")
}
