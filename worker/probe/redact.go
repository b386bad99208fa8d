package probe

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-run/belfry"
)

// redactURL shows where a request went without what may be secret in it.
func redactURL(u *url.URL) string {
	shown := *u
	shown.User, shown.Fragment, shown.RawFragment = nil, "", ""
	if shown.RawQuery == "" {
		return shown.String()
	}
	shown.RawQuery = ""
	return shown.String() + "?…"
}

// redactText cuts every query and password out of a text that may quote URLs.
func redactText(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		if before, _, found := strings.Cut(word, "?"); found {
			words[i] = before + "?…"
		}
		if scheme, rest, found := strings.Cut(words[i], "://"); found {
			if _, host, found := strings.Cut(rest, "@"); found {
				words[i] = scheme + "://" + host
			}
		}
	}
	return strings.Join(words, " ")
}

// secrets are texts that a task sends and that must not come back in what is
// kept: a server that repeats a request's headers is not rare.
type secrets []string

// minSecret is the shortest text that is looked for. Shorter ones would cut
// holes into everything.
const minSecret = 6

func (s *secrets) add(texts ...string) {
	for _, text := range texts {
		if len(text) >= minSecret && !slices.Contains(*s, text) {
			*s = append(*s, text)
		}
	}
}

const hidden = "(secret)"

func (s secrets) hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

func (s secrets) longest() (n int) {
	for _, secret := range s {
		n = max(n, len(secret))
	}
	return n
}

// private headers are not kept, whatever they say.
var private = regexp.MustCompile(`(?i)cookie|auth|token|secret|session|passw|csrf|xsrf|signature|credential|api-?key`)

// inText finds what is secret in the URLs and assignments of a text.
var inText = regexp.MustCompile(`(?i)([?&;]?(?:access_token|refresh_token|id_token|token|api_?key|secret|password|passwd|pwd|sig|signature|auth|session(?:id)?)=)[^\s&"'<>;]+`)

var withUser = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"'<>]+@`)

// redactBody hides what looks like a secret in foreign text.
func (s secrets) redactBody(text string) string {
	text = inText.ReplaceAllString(s.hide(text), "${1}"+hidden)
	return withUser.ReplaceAllString(text, "${1}")
}

const maxHeaderShown = 512

// keep makes a snapshot of an answer.
func (s secrets) keep(status string, header http.Header, body []byte) *belfry.Snapshot {
	snap := &belfry.Snapshot{}
	snap.Status, _ = belfry.CleanText(s.redactBody(status), 200)
	snap.Headers, snap.Cut = s.keepHeaders(header)
	// More than is kept is looked at, so that no secret is cut in two and
	// passes as half of one.
	room := 2 * belfry.MaxSnapshot
	text, cut := belfry.CleanText(string(body[:min(len(body), room)]), room)
	text, cut = s.hide(text), cut || len(body) > room
	if cut {
		text = text[:max(0, len(text)-s.longest())]
	}
	text, cutAgain := belfry.CleanText(s.redactBody(text), belfry.MaxSnapshot)
	snap.Body, snap.Cut = text, snap.Cut || cut || cutAgain
	return snap
}

func (s secrets) keepHeaders(header http.Header) (kept map[string]string, cut bool) {
	if len(header) == 0 {
		return nil, false
	}
	kept = map[string]string{}
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > belfry.MaxSnapshotLines {
		names, cut = names[:belfry.MaxSnapshotLines], true
	}
	for _, name := range names {
		if private.MatchString(name) {
			continue
		}
		value := strings.Join(header[name], ", ")
		if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" {
			value = redactURL(u)
		}
		text, short := belfry.CleanText(s.redactBody(value), maxHeaderShown)
		shown, _ := belfry.CleanText(name, maxHeaderShown)
		kept[shown], cut = text, cut || short
	}
	return kept, cut
}
