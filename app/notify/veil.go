package notify

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
)

// veil hides a channel's secrets in texts from outside: answers that echo the
// request, and errors of libraries.
type veil struct {
	secrets  []string
	replacer *strings.Replacer
}

const hidden = "***"

// maxFault limits the text of an error, in bytes.
const maxFault = 1 << 10

// Minimum lengths of hidden secrets. Shorter ones would mask much of any text, and hide nothing.
const (
	minSecret = 3
	minPiece  = 6
)

func newVeil(c alert.Channel) veil {
	var secrets []string
	for _, s := range secretsOf(c) {
		for _, spelled := range spellings(s) {
			if len(spelled) >= minSecret {
				secrets = append(secrets, spelled)
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	secrets = slices.Compact(secrets)
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets { // the longest first, because the replacer prefers earlier pairs
		pairs = append(pairs, s, hidden)
	}
	return veil{secrets, strings.NewReplacer(pairs...)}
}

// over hides secrets in a fault, and turns other errors into faults. The host
// stays visible, so that people know where to look.
func (v veil) over(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	f := &fault{text: err.Error()}
	if !errors.As(err, &f) && ctx.Err() != nil {
		f.cause = ctx.Err()
	}
	shown := *f
	shown.text, shown.said = line(f.text), line(f.said)
	if f.open {
		shown.said = v.withoutBegin(shown.said)
	}
	// Secrets are hidden before the text is cut: a partial secret would not be found.
	shown.text = cut(line(v.replacer.Replace(shown.text)), maxFault/2)
	shown.said = cut(line(v.replacer.Replace(shown.said)), maxFault/2)
	return &shown
}

// withoutBegin removes the begin of a secret from the end of a text.
func (v veil) withoutBegin(s string) string {
	most := 0
	for _, secret := range v.secrets {
		for n := min(len(secret)-1, len(s)); n > most; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				most = n
			}
		}
	}
	return s[:len(s)-most]
}

// secretsOf returns the secrets of a channel, and the pieces of its secret addresses.
func secretsOf(c alert.Channel) []string {
	var secrets []string
	c.MapSecrets(func(path string, s core.Secret) core.Secret {
		switch text := string(s); {
		case strings.HasSuffix(path, ".url"):
			secrets = append(secrets, pieces(text)...)
		default:
			secrets = append(secrets, text)
			if _, after, found := strings.Cut(text, " "); found && strings.Contains(path, ".headers.") { // Bearer X
				secrets = append(secrets, after)
			}
		}
		return s
	})
	for _, k := range alert.Kinds {
		if more := ways[k.Name].more; more != nil && k.Given(c) {
			secrets = append(secrets, more(c)...)
		}
	}
	return secrets
}

// pieces returns the parts of a secret address that would make it usable.
func pieces(address string) []string {
	found := []string{address}
	add := func(all ...string) {
		for _, s := range all {
			if len(s) >= minPiece {
				found = append(found, s)
			}
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		add(strings.FieldsFunc(address, func(c rune) bool { return strings.ContainsRune("/?&=#@:", c) })...)
		return found
	}
	add(u.RequestURI(), strings.Trim(u.EscapedPath(), "/"), u.RawQuery, u.Fragment, u.Opaque)
	add(strings.Split(u.Path, "/")...)
	for _, segment := range strings.Split(u.EscapedPath(), "/") {
		add(segment)
		if decoded, err := url.PathUnescape(segment); err == nil { // a %2F does not separate segments
			add(decoded)
		}
	}
	for _, pair := range strings.FieldsFunc(u.RawQuery, func(c rune) bool { return c == '&' || c == ';' }) {
		_, value, _ := strings.Cut(pair, "=")
		add(pair, value)
		if plain, err := url.QueryUnescape(value); err == nil {
			add(plain)
		}
	}
	return append(found, passwordOf(address)...)
}

// passwordOf returns the password of an address, also as it is encoded in requests.
func passwordOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	found := []string{u.User.String(), u.User.Username() + ":" + password, password}
	if password == "" {
		found = append(found, u.User.Username()) // a token in place of the user
	}
	return slices.DeleteFunc(found, func(s string) bool { return s == "" || s == ":" })
}

// spellings returns the encodings in which an answer may contain a secret.
func spellings(s string) []string {
	if s == "" {
		return nil
	}
	quoted, _ := json.Marshal(s)
	goQuoted := strconv.Quote(s)
	return []string{
		s, line(s), url.QueryEscape(s), url.PathEscape(s), (&url.URL{Path: s}).EscapedPath(), html.EscapeString(s),
		string(quoted[1 : len(quoted)-1]), goQuoted[1 : len(goQuoted)-1], strings.ReplaceAll(s, "/", `\/`),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "="), strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(s)), "="),
	}
}
