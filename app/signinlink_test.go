package app

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// A link signs one browser in, once; what it led to stays signed in.
func TestSignInLink(t *testing.T) {
	a := start(t, options(t))
	if !a.MadeToken() {
		t.Error("a first start made no token")
	}
	use := func(link string) (status int, page string) {
		t.Helper()
		jar, _ := cookiejar.New(nil)
		browser := &http.Client{Jar: jar}
		at, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		read := func(r *http.Response, err error) (int, string) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close() //nolint:errcheck // read
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			return r.StatusCode, string(body)
		}
		// Who only looks at the address, such as a program that previews links, uses nothing up.
		for range 2 {
			if status, page = read(browser.Get(link)); status != http.StatusOK || !strings.Contains(page, "good once") {
				t.Fatalf("%d: %s", status, page)
			}
		}
		return read(browser.PostForm(a.URL()+"/sign-in", url.Values{"once": {at.Query().Get("once")}}))
	}
	old := a.SignInLink()
	link := a.SignInLink()
	if status, page := use(old); status != http.StatusUnauthorized || !strings.Contains(page, "This link was used before, or is too old.") || !strings.Contains(page, `name="token"`) {
		t.Errorf("the link before: %d %s", status, page)
	}
	if status, page := use(link); status != http.StatusOK || !strings.Contains(page, "Nothing happens here yet.") {
		t.Fatalf("the link: %d %s", status, page)
	}
	if status, _ := use(link); status != http.StatusUnauthorized {
		t.Errorf("the link a second time: %d", status)
	}
	a.SignInLink()
	a.link.expires = a.link.expires.Add(-SignInLinkLife)
	if _, err := a.redeem("anything"); err == nil {
		t.Error("anything signs in")
	}
}

// Where others reach the node a link would let them in.
func TestNoSignInLinkBeyondThisMachine(t *testing.T) {
	o := options(t)
	o.BehindProxy = true
	a := start(t, o)
	if link := a.SignInLink(); link != "" {
		t.Errorf("behind a proxy: %s", link)
	}
}
