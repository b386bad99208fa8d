package reach

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// RedactURL returns the text of a URL without possible secrets.
func RedactURL(u *url.URL) string {
	shown := *u
	shown.User, shown.Fragment, shown.RawFragment = nil, "", ""
	if shown.RawQuery == "" {
		return shown.String()
	}
	shown.RawQuery = ""
	return shown.String() + "?…"
}

// RedactAddress is RedactURL for a text that may not be a URL.
func RedactAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an address that cannot be read"
	}
	return RedactURL(u)
}

// RedactText removes all queries and passwords from a text that may quote URLs.
func RedactText(text string) string {
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

// Secrets are texts that a task sends and that must not be kept from answers:
// many servers repeat the headers of a request.
type Secrets struct {
	// Mark replaces a secret. Default: "(secret)".
	Mark string

	texts []string
}

// minSecret is the minimum length of a hidden text, and minToken that of a part
// of a header's value. Shorter ones would match in any text.
const (
	minSecret = 6
	minToken  = 12
)

// Add adds texts as secrets, also as they are written in JSON, HTML and URLs.
func (s *Secrets) Add(texts ...string) {
	for _, text := range texts {
		if len(text) < minSecret {
			continue
		}
		quoted, _ := json.Marshal(text)
		goQuoted := strconv.Quote(text)
		for _, spelled := range []string{
			text, string(quoted[1 : len(quoted)-1]), goQuoted[1 : len(goQuoted)-1], html.EscapeString(text),
			url.QueryEscape(text), url.PathEscape(text), (&url.URL{Path: text}).EscapedPath(),
		} {
			if !slices.Contains(s.texts, spelled) {
				s.texts = append(s.texts, spelled)
			}
		}
	}
}

// AddHeaders adds the values of headers as secrets, and the tokens in them.
func (s *Secrets) AddHeaders(headers map[string]string) {
	for name, value := range headers {
		if name = http.CanonicalHeaderKey(name); publicHeaders[name] || name == "Host" {
			continue
		}
		s.Add(value)
		if _, token, found := strings.Cut(value, " "); found { // Bearer TOKEN
			s.Add(token)
		}
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ;,=", r) }) {
			if len(word) >= minToken {
				s.Add(word)
			}
		}
	}
}

// AddURL adds the values of a URL's query as secrets if their names suggest it.
func (s *Secrets) AddURL(text string) {
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	for name, values := range u.Query() {
		if private.MatchString(name) {
			for _, value := range values {
				s.Add(value)
			}
		}
	}
}

// Hide replaces secrets by the mark.
func (s *Secrets) Hide(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, s.mark())
	}
	return text
}

// Excerpt returns the first bytes of an answer as a text in the sense of [core.CleanText], without secrets, and without the
// begin of one at its end.
func (s *Secrets) Excerpt(body []byte, limit int) (text string, cut bool) {
	text, short := core.CleanText(string(body), limit+s.longest())
	text = s.Hide(text)
	if short {
		text = text[:max(0, len(text)-s.longest())]
	}
	text, cut = core.CleanText(strings.ToValidUTF8(text, ""), limit)
	return text, cut || short
}

func (s *Secrets) mark() string {
	if s.Mark == "" {
		return "(secret)"
	}
	return s.Mark
}

func (s *Secrets) longest() (n int) {
	for _, secret := range s.texts {
		n = max(n, len(secret))
	}
	return n
}

// private matches names of headers and parameters whose values are never kept.
var private = regexp.MustCompile(`(?i)cookie|auth|token|secret|session|passw|csrf|xsrf|signature|^sig$|credential|api[_-]?key|^key$`)

// inText matches likely secrets in the URLs and assignments of a text.
var inText = regexp.MustCompile(`(?i)([?&;]?(?:access_token|refresh_token|id_token|token|api_?key|secret|password|passwd|pwd|sig|signature|auth|session(?:id)?)=)[^\s&"'<>;]+`)

var withUser = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"'<>]+@`)

// Redact hides secrets and likely secrets in text of the target.
func (s *Secrets) Redact(text string) string {
	text = inText.ReplaceAllString(s.Hide(text), "${1}"+s.mark())
	return withUser.ReplaceAllString(text, "${1}")
}
