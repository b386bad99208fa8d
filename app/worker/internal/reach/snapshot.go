package reach

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

const (
	maxStatusShown = 200
	maxHeaderShown = 512
	maxLookedAt    = 2 * task.MaxSnapshot
)

// Keep returns a snapshot of an answer.
func (s *Secrets) Keep(status string, header http.Header, body []byte) *task.Snapshot {
	snap := &task.Snapshot{}
	snap.Status, _ = s.show(status, maxStatusShown)
	snap.Headers, snap.Cut = s.keepHeaders(header)
	text, cut := s.show(string(body[:min(len(body), maxLookedAt+1)]), task.MaxSnapshot)
	snap.Body, snap.Cut = text, snap.Cut || cut
	return snap
}

// show cleans text of a target for display. It removes control characters before
// it hides secrets, because they could split a secret. It searches more text
// than it shows, so that no partial secret remains at the end.
func (s *Secrets) show(text string, most int) (shown string, cut bool) {
	cut = len(text) > maxLookedAt
	text, short := core.CleanText(text[:min(len(text), maxLookedAt)], maxLookedAt)
	text, cut = s.Hide(text), cut || short
	if cut {
		text = text[:max(0, len(text)-s.longest())]
	}
	shown, short = core.CleanText(s.Redact(text), most)
	return shown, cut || short
}

func (s *Secrets) keepHeaders(header http.Header) (kept map[string]string, cut bool) {
	if len(header) == 0 {
		return nil, false
	}
	kept = map[string]string{}
	names := slices.Sorted(maps.Keys(header))
	if len(names) > task.MaxSnapshotLines {
		names, cut = names[:task.MaxSnapshotLines], true
	}
	for _, name := range names {
		if private.MatchString(name) {
			continue
		}
		value := strings.Join(header[name], ", ")
		if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" {
			value = RedactURL(u)
		}
		text, short := s.show(value, maxHeaderShown)
		shown, _ := s.show(name, maxHeaderShown)
		kept[shown], cut = text, cut || short
	}
	return kept, cut
}
