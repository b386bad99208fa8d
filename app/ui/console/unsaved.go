package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/core"
)

// A form that is sent after its session has ended is shown again when its person has signed in. Nothing is saved before they
// send it again. The sign-in page carries the form, sealed, because its values may be secret. A cookie has the key and the digest
// of the person: the page is useless to another person, and the cookie is useless without the page. No node keeps anything.

const (
	keptField   = "kept-form"    // holds a sealed form
	keptForm    = "kept-form-of" // holds the address that it was sent to
	maxKept     = 256 << 10      // bytes of a form that is kept
	maxSignIn   = 512 << 10      // bytes of a sign-in with a kept form
	keptFor     = time.Hour      // time to sign in again
	keptPurpose = "belfry kept form"
)

type unsavedKey struct{}

// Unsaved reports whether ctx is of a request that shows a form again as it was typed. Such a request must change nothing.
func Unsaved(ctx context.Context) bool { return ctx.Value(unsavedKey{}) != nil }

// ErrUnsaved is the error of changes under an [Unsaved] context.
var ErrUnsaved = core.Errorf(core.Conflict, "you are signed in again, and what you typed is not saved yet").
	WithHint("check the form, choose files again, and send it")

// formKey is the cookie that opens the unsaved forms of a person.
type formKey struct {
	key key
	who [sha256.Size]byte
}

// personOf identifies a person: the token, or the name at the provider, whose tokens end with the session.
func personOf(t access.Token, own int64) string {
	if own != 0 {
		return access.PersonActor(t.Name)
	}
	return strconv.FormatInt(t.ID, 10)
}

func newFormKey(person string) formKey {
	k := formKey{key: newKey()}
	k.who = k.of(person)
	return k
}

func (k formKey) of(person string) [sha256.Size]byte {
	return sha256.Sum256(append(bytes.Clone(k.key), person...))
}

func (k formKey) String() string {
	return base64.RawURLEncoding.EncodeToString(append(bytes.Clone(k.key), k.who[:]...))
}

func (c *Console) formCookie(r *http.Request) string { return c.cookieName(r) + "-form" }

func (c *Console) formKey(r *http.Request) (k formKey, ok bool) {
	cookie, err := r.Cookie(c.formCookie(r))
	if err != nil {
		return k, false
	}
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(text) != 32+len(k.who) {
		return k, false
	}
	k.key = text[:32]
	copy(k.who[:], text[32:])
	return k, true
}

// keepFormKey gives a person who signs in the key of their forms. It outlives the session.
func (p *page) keepFormKey(person string) {
	k, ok := p.c.formKey(p.R)
	if !ok || k.of(person) != k.who {
		k = newFormKey(person)
	}
	p.Site.SetCookie(p.W, p.R, p.c.formCookie(p.R), k.String(), int((p.c.opt.Limits.Life.D() + keptFor).Seconds()))
}

// keepForm seals the form that was sent, if its page can show it again.
func (p *page) keepForm() (sealed string) {
	k, ok := p.c.formKey(p.R)
	twin, post := strings.CutPrefix(p.R.Pattern, "POST ")
	if !ok || !post || !p.Site.Pages["GET "+twin] || p.R.PostForm == nil && p.readForm(maxKept) != nil {
		return ""
	}
	if again := p.R.PostForm.Get(keptField); again != "" { // the session ended once more
		return again
	}
	text := p.R.PostForm.Encode()
	if text == "" || len(text) > maxKept {
		return ""
	}
	c, err := k.key.cipherFor(keptPurpose)
	if err != nil {
		return ""
	}
	until := strconv.FormatInt(p.c.opt.Now().Add(keptFor).Unix(), 10)
	return base64.RawURLEncoding.EncodeToString(c.Seal(nil, nil, []byte(until+"\n"+text), k.bound(k.who, p.R.URL.RequestURI())))
}

// bound is the context of a sealed form: a person and an address.
func (k formKey) bound(who [sha256.Size]byte, address string) []byte {
	return append(who[:], address...)
}

// openKept opens a form that was sealed for a person and an address.
func (p *page) openKept(sealed, person, address string) (url.Values, error) {
	lost := core.Errorf(core.Conflict, "the form that you sent before you signed in again cannot be shown").
		WithHint("type it again; it is kept for the person who sent it, for %s", core.Duration(keptFor))
	k, ok := p.c.formKey(p.R)
	box, err := base64.RawURLEncoding.DecodeString(sealed)
	if !ok || err != nil {
		return nil, lost
	}
	c, err := k.key.cipherFor(keptPurpose)
	if err != nil {
		return nil, err
	}
	text, err := c.Open(nil, nil, box, k.bound(k.of(person), address))
	until, form, _ := strings.Cut(string(text), "\n")
	if end, bad := strconv.ParseInt(until, 10, 64); err != nil || bad != nil || p.c.opt.Now().Unix() > end {
		return nil, lost
	}
	return url.ParseQuery(form)
}

// typeAgain turns a request with a sealed form into one that has sent this form, and under which nothing is saved.
func (p *page) typeAgain(person string) error {
	values, err := p.openKept(p.R.PostForm.Get(keptField), person, p.R.URL.RequestURI())
	if err != nil {
		return err
	}
	p.R = p.R.WithContext(context.WithValue(p.R.Context(), unsavedKey{}, true))
	p.R.PostForm, p.R.MultipartForm = values, nil
	p.R.Form = p.R.URL.Query()
	for name, all := range values {
		p.R.Form[name] = append(all[:len(all):len(all)], p.R.Form[name]...)
	}
	return nil
}

// offerForm answers a sign-in with the way back to the form that was sent before, or reports false.
func (p *page) offerForm(d signInData) bool {
	if d.Kept == "" {
		return false
	}
	if _, err := p.openKept(d.Kept, personOf(p.Token, 0), d.KeptOf); err != nil {
		_ = p.DoneBadly(p.Site.Prefix+frame.LocalPath(d.Next), "You are signed in. The form that you sent before cannot be shown: %v.", err)
		return true
	}
	d.Ready = true
	p.signInPage(d)
	return true
}
