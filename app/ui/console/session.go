package console

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/audit"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
)

// key is what the cookie of a session holds: 256 random bits. The database has
// a hash of it, and the token's secret sealed with it, so that neither the
// database nor the cookie is of use without the other.
type key []byte

func newKey() key {
	k := make(key, 32)
	rand.Read(k) //nolint:errcheck // never fails, by its documentation
	return k
}

func parseKey(text string) (key, bool) {
	k, err := base64.RawURLEncoding.DecodeString(text)
	return k, err == nil && len(k) == 32
}

func (k key) String() string { return base64.RawURLEncoding.EncodeToString(k) }

func (k key) hash() string {
	sum := sha256.Sum256(k)
	return hex.EncodeToString(sum[:])
}

func (k key) cipher() (cipher.AEAD, error) { return k.cipherFor("belfry web session") }

func (k key) cipherFor(purpose string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, k, nil, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealed is the content of a session.
type sealed struct {
	Secret string // of a token
	Own    int64  // the ID of the token, if it was made for the session and ends with it
}

func (k key) seal(s sealed) ([]byte, error) {
	c, err := k.cipher()
	if err != nil {
		return nil, err
	}
	text := s.Secret
	if s.Own != 0 {
		text += " " + strconv.FormatInt(s.Own, 10)
	}
	return c.Seal(nil, nil, []byte(text), []byte(k.hash())), nil
}

func (k key) open(box []byte) (s sealed, err error) {
	c, err := k.cipher()
	if err != nil {
		return s, err
	}
	text, err := c.Open(nil, nil, box, []byte(k.hash()))
	if err != nil {
		return s, err
	}
	secret, own, found := strings.Cut(string(text), " ")
	s.Secret = secret
	if found {
		s.Own, err = strconv.ParseInt(own, 10, 64)
	}
	return s, err
}

// cookieName has the strictest cookie prefix that the address allows.
func (c *Console) cookieName(r *http.Request) string {
	switch {
	case !c.site.Secure(r):
		return frame.OfPort("belfry_session", r)
	case c.site.Prefix == "":
		return "__Host-belfry"
	}
	return "__Secure-belfry"
}

// session returns the session of a request, or false.
func (c *Console) session(r *http.Request) (k key, s sealed, ok bool, err error) {
	cookie, err := r.Cookie(c.cookieName(r))
	if err != nil {
		return nil, s, false, nil
	}
	if k, ok = parseKey(cookie.Value); !ok {
		return nil, s, false, nil
	}
	w, err := c.opt.Sessions.WebSession(r.Context(), k.hash(), c.opt.Limits)
	if core.CodeOf(err) == core.NotFound {
		return k, s, false, nil
	}
	if err != nil {
		return k, s, false, err
	}
	s, err = k.open(w.Sealed)
	return k, s, err == nil, nil
}

// signedIn calls a handler for a signed-in person, and sends others to the sign-in page.
func (c *Console) signedIn(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := c.newPage(w, r)
		k, s, ok, err := c.session(r)
		if err != nil {
			p.Fail(err)
			return
		}
		if !ok {
			why := ""
			if k != nil {
				why = "ended"
			}
			p.askToSignIn(why)
			return
		}
		if err = p.enter(s.Secret); err == nil && !(c.uploads[r.Pattern] && frame.HasFiles(r)) {
			var give func()
			if give, err = c.forms.Take(r.Context(), p.Token.Actor(), formShare(r)); err == nil {
				defer give()
				err = p.readForm(maxForm)
			}
		}
		if err == nil && p.R.PostForm.Has(keptField) {
			err = p.typeAgain(personOf(p.Token, s.Own))
		}
		if err == nil {
			err = h(p)
		}
		if core.CodeOf(err) == core.Unauthorized {
			_ = c.opt.Sessions.CloseWebSession(r.Context(), k.hash()) // without it the session ends at its time limit
			c.site.SetCookie(w, r, c.cookieName(r), "", -1)
			p.askToSignIn("refused")
			return
		}
		if err != nil {
			p.failed(err)
		}
	}
}

// failed is Fail. Of an object that was deleted it says by whom.
func (p *page) failed(err error) {
	if core.CodeOf(err) == core.NotFound && p.api != nil {
		if a := audit.Deletion(p.R.Context(), p.api, p.R.Pattern, p.Namespace, p.R.PathValue("name")); a != nil {
			noun := parts.Words(a.Noun)
			if strings.Contains(p.R.Pattern, " /cycles/") { // the audit has a cycle as a task
				noun = "cycle"
			}
			gone := core.Errorf(core.NotFound, "%s %q was deleted %s by %s", noun, a.Name, parts.NewMoment(a.At, p.Now, p.Times.Zone, true).Rel(), a.Actor)
			p.Fail(gone, frame.More{Text: "Its changes", Link: p.With(p.LinkIn(a.Namespace, "audit"), "noun", a.Noun, "name", a.Name)})
			return
		}
	}
	p.Fail(err)
}

// maxForm bounds a form, in bytes.
const maxForm = 1 << 20

// formShare is the share of a form in the memory of all. A longer one is a file, most of which is not in memory, or is refused.
func formShare(r *http.Request) int64 {
	if r.ContentLength < 0 {
		return maxForm
	}
	return min(r.ContentLength, maxForm)
}

// readForm reads the posted form before the handler does, whose FormValue would take a broken or too large body for an empty
// one.
func (p *page) readForm(most int64) error {
	p.R.Body = http.MaxBytesReader(p.W, p.R.Body, most)
	read := p.R.ParseForm
	if frame.HasFiles(p.R) {
		read = func() error { return p.R.ParseMultipartForm(most) } // all of it in memory
	}
	err := read()
	var big *http.MaxBytesError
	switch {
	case p.R.Method != http.MethodPost || err == nil:
		return nil
	case errors.As(err, &big):
		return core.Errorf(core.TooLarge, "the form is over its limit of %s", core.SizeText(big.Limit)).WithHint("write less")
	}
	return core.Errorf(core.Invalid, "the form could not be read: %v", err).WithHint("go back and send it again")
}

// askToSignIn shows the sign-in page, which leads back to the requested page.
func (p *page) askToSignIn(why string) {
	if p.R.Method != http.MethodGet || p.R.URL.Path == "/live" {
		p.Status = http.StatusUnauthorized
		d := signInData{Why: cmp.Or(why, "ended"), Next: p.form(), Kept: p.keepForm()} // a browser forgets the cookie when the session is over
		d.KeptOf = p.R.URL.RequestURI()
		p.signInPage(d)
		return
	}
	next := p.R.URL.RequestURI()
	if next == "/" {
		next = ""
	}
	to := p.With(p.Site.Prefix+"/sign-in", "next", next, "why", why)
	http.Redirect(p.W, p.R, to, http.StatusSeeOther)
}

// form is the page of the posted form. There resume.js fills in the fields again, from the storage of the browser: no address
// has them.
func (p *page) form() string {
	from, err := url.Parse(p.R.Referer())
	if err != nil || from.Host != p.R.Host {
		return ""
	}
	return strings.TrimPrefix(frame.LocalPath(from.RequestURI()), p.Site.Prefix)
}

type signInData struct {
	Next      string
	Once      string // the code of a link that signs in once
	Why       string // ended, refused or out: why the person was signed out
	Err       error
	TokenFile string
	Choices   []access.Grant // grants of a person with several; a session has one

	Kept   string // form that was sent after the session ended, sealed
	KeptOf string // address that it was sent to
	Ready  bool   // the person is signed in again, and Kept can be shown
}

func (p *page) signInPage(d signInData) {
	p.Token, p.Fill = access.Token{}, nil // the refused visitor has no frame of a user
	if d.TokenFile = p.c.opt.TokenFile(); d.TokenFile != "" {
		if whole, err := filepath.Abs(d.TokenFile); err == nil {
			d.TokenFile = whole
		}
	}
	p.Data = d
	p.Render("sign-in")
}

func (c *Console) showSignIn(w http.ResponseWriter, r *http.Request) {
	p := c.newPage(w, r)
	p.signInPage(signInData{Next: r.FormValue("next"), Once: r.FormValue("once"), Why: r.FormValue("why")})
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	p := c.newPage(w, r)
	most := int64(8 << 10)
	if _, ok := c.formKey(r); ok {
		most = maxSignIn
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	d := signInData{Next: r.PostFormValue("next"), Kept: r.PostFormValue(keptField), KeptOf: frame.LocalPath(r.PostFormValue(keptForm))}
	secret, err := strings.TrimSpace(r.PostFormValue("token")), error(nil)
	if code := r.PostFormValue("once"); code != "" {
		secret, err = c.opt.Redeem(code)
	}
	if err == nil {
		err = p.trySignIn(secret)
	}
	if err != nil {
		d.Err, p.Status = err, c.opt.Status(err)
		p.signInPage(d)
		return
	}
	if !p.offerForm(d) {
		http.Redirect(w, r, c.site.Prefix+frame.LocalPath(d.Next), http.StatusSeeOther)
	}
}

func (p *page) trySignIn(secret string) error {
	if secret == "" || strings.ContainsAny(secret, " \t\r\n\x00") {
		return core.InvalidField("token", "", "is missing, or is not a token", "it is one line that begins with belfry_")
	}
	if err := p.enter(secret); err != nil {
		return err
	}
	if !p.Can("read") {
		return core.Errorf(core.Forbidden, "the token %q may not read", p.Token.Name).
			WithHint("create one with the scope read, operate or admin")
	}
	return p.open(p.Token.Actor(), sealed{Secret: secret})
}

// open opens a session for a person, as the audit calls them, and ends the one that this browser had before.
func (p *page) open(who string, s sealed) error {
	k := newKey()
	box, err := k.seal(s)
	if err != nil {
		return err
	}
	if err := p.c.end(p.R); err != nil {
		return err
	}
	if _, err := p.c.opt.Sessions.OpenWebSession(access.WithActor(p.R.Context(), who), access.WebSession{Hash: k.hash(), Sealed: box}, p.c.opt.Limits); err != nil {
		return err
	}
	p.Site.SetCookie(p.W, p.R, p.c.cookieName(p.R), k.String(), int(p.c.opt.Limits.Life.D().Seconds()))
	person := who
	if s.Own == 0 {
		person = personOf(p.Token, 0)
	}
	p.keepFormKey(person)
	return nil
}

// end ends the session of a request, if there is one, and the token that was
// made for it.
func (c *Console) end(r *http.Request) error {
	k, s, ok, err := c.session(r)
	if err != nil || !ok {
		return err
	}
	who := "unknown" // the token was revoked before
	p := c.newPage(nil, r)
	entered := p.enter(s.Secret)
	if entered == nil {
		who = p.Token.Actor()
	}
	if s.Own != 0 && c.opt.Tokens != nil {
		if err = entered; err == nil {
			err = c.opt.Tokens.RevokeToken(access.WithActor(r.Context(), access.PersonActor(p.Token.Name)), s.Own)
		}
		if err != nil && core.CodeOf(err) != core.Unauthorized { // Unauthorized: the token was revoked before
			return err
		}
	}
	return c.opt.Sessions.CloseWebSession(access.WithActor(r.Context(), who), k.hash())
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	if err := c.end(r); err != nil {
		c.newPage(w, r).Fail(err)
		return
	}
	c.site.SetCookie(w, r, c.cookieName(r), "", -1)
	c.site.SetCookie(w, r, c.formCookie(r), "", -1)
	http.Redirect(w, r, c.site.Prefix+"/sign-in?why=out", http.StatusSeeOther)
}
