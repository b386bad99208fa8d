package reach

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// RedactURL shows where a request went without what may be secret in it.
func RedactURL(u *url.URL) string {
	shown := *u
	shown.User, shown.Fragment, shown.RawFragment = nil, "", ""
	if shown.RawQuery == "" {
		return shown.String()
	}
	shown.RawQuery = ""
	return shown.String() + "?…"
}

// RedactAddress is RedactURL for what may not be a URL.
func RedactAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an address that cannot be read"
	}
	return RedactURL(u)
}

// RedactText cuts every query and password out of a text that may quote URLs.
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

// Secrets are texts that a task sends and that must not come back in what is
// kept: a server that repeats a request's headers is not rare.
type Secrets struct {
	// Mark stands where a secret was. Default: "(secret)".
	Mark string

	texts []string
}

// minSecret is the shortest text that is looked for, and minToken the shortest
// part of a header's value. Shorter ones would cut holes into everything.
const (
	minSecret = 6
	minToken  = 12
)

// Add makes secrets of texts.
func (s *Secrets) Add(texts ...string) {
	for _, text := range texts {
		if len(text) >= minSecret && !slices.Contains(s.texts, text) {
			s.texts = append(s.texts, text)
		}
	}
}

// AddHeaders makes secrets of the values of headers, and of the tokens in
// them.
func (s *Secrets) AddHeaders(headers map[string]string) {
	for name, value := range headers {
		if name = http.CanonicalHeaderKey(name); harmless[name] || name == "Host" {
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

// AddURL makes secrets of the values of a URL's query whose names say so.
func (s *Secrets) AddURL(text string) {
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	for name, values := range u.Query() {
		if private.MatchString(name) {
			for _, value := range values {
				s.Add(value, url.QueryEscape(value))
			}
		}
	}
}

// Hide puts the mark where a secret is.
func (s *Secrets) Hide(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, s.mark())
	}
	return text
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

// private are names of headers and parameters whose values are not kept,
// whatever they say.
var private = regexp.MustCompile(`(?i)cookie|auth|token|secret|session|passw|csrf|xsrf|signature|^sig$|credential|api[_-]?key|^key$`)

// inText finds what is secret in the URLs and assignments of a text.
var inText = regexp.MustCompile(`(?i)([?&;]?(?:access_token|refresh_token|id_token|token|api_?key|secret|password|passwd|pwd|sig|signature|auth|session(?:id)?)=)[^\s&"'<>;]+`)

var withUser = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"'<>]+@`)

// Redact hides what looks like a secret in foreign text.
func (s *Secrets) Redact(text string) string {
	text = inText.ReplaceAllString(s.Hide(text), "${1}"+s.mark())
	return withUser.ReplaceAllString(text, "${1}")
}
