package app

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
)

// SignInLinkLife is how long a link from [App.SignInLink] is valid.
const SignInLinkLife = 15 * time.Minute

// signInLink is the last created link. Only its hash is kept, in memory: the link is not
// valid at another node, or after a restart.
type signInLink struct {
	mu      sync.Mutex
	hash    [sha256.Size]byte
	expires time.Time
}

// SignInLink returns an address at which one person can sign in with this machine's token,
// once and within [SignInLinkLife]. It revokes the previous link. It returns "" where the
// sign-in page would not name the token's file: without the console, and if other machines
// can reach the node. The link gives access to its reader, so print it on a terminal, not
// in a log.
func (a *App) SignInLink() string {
	if a.pages == nil || a.localTokenFile() == "" {
		return ""
	}
	code := rand.Text()
	a.link.mu.Lock()
	defer a.link.mu.Unlock()
	a.link.hash, a.link.expires = sha256.Sum256([]byte(code)), time.Now().Add(SignInLinkLife)
	return a.url + "/sign-in?" + url.Values{"once": {code}}.Encode()
}

// redeem returns the token of a link, and revokes the link.
func (a *App) redeem(code string) (secret string, err error) {
	refused := core.Errorf(core.Unauthorized, "this link was used before, or is too old").WithHint("sign in with the token, or start the node again for another link")
	a.link.mu.Lock()
	hash := sha256.Sum256([]byte(code))
	good := subtle.ConstantTimeCompare(hash[:], a.link.hash[:]) == 1 && time.Now().Before(a.link.expires)
	if good {
		a.link.hash, a.link.expires = [sha256.Size]byte{}, time.Time{}
	}
	a.link.mu.Unlock()
	file := a.localTokenFile()
	if !good || file == "" {
		return "", refused
	}
	if secret, err = ReadToken(file); err == nil && secret == "" {
		err = refused
	}
	return secret, err
}
