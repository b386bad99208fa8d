package page

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-run/belfry"
)

// sensitive are names of headers and parameters whose values are secret.
var sensitive = regexp.MustCompile(`(?i)cookie|authori[sz]ation|authenticat|token|secret|passw|api[_-]?key|^key$|session|signature|^sig$|csrf|credential`)

func canonical(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }

// snapshot keeps an answer that was not as wanted, capped and without secrets.
// It is nil when there was none.
func (f fetched) snapshot(hidden secrets) *belfry.Snapshot {
	if f.status == 0 {
		return nil
	}
	s := &belfry.Snapshot{Status: strings.TrimSpace(fmt.Sprintf("%d %s", f.status, http.StatusText(f.status))), Headers: map[string]string{}}
	room := belfry.MaxSnapshot
	for _, name := range slices.Sorted(maps.Keys(f.header)) {
		if len(s.Headers) >= belfry.MaxSnapshotLines {
			s.Cut = true
			break
		}
		value, cut := belfry.CleanText(hidden.hide(strings.Join(f.header[name], ", ")), min(512, room))
		if sensitive.MatchString(name) {
			value, cut = string(belfry.Redacted), false
		}
		room = max(0, room-len(name)-len(value))
		s.Headers[name], s.Cut = value, s.Cut || cut
	}
	body := f.body
	if !isBinary(f) {
		// Secrets are hidden before the cut, so that it leaves no half of one.
		text := hidden.hide(string(body[:min(len(body), 2*belfry.MaxSnapshot)]))
		var cut bool
		s.Body, cut = belfry.CleanText(text, room)
		s.Cut = s.Cut || cut || len(body) > 2*belfry.MaxSnapshot
	}
	return s
}

func isBinary(f fetched) bool {
	kind := mediaType(content{body: f.body, kind: f.header.Get("Content-Type")})
	return !strings.HasPrefix(kind, "text/") && !isHTML(kind) && !isJSON(kind) && !isXML(kind)
}
