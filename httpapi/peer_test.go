package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/access"
)

func TestAddressOfAClientBehindProxies(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		peer    string
		headers []string // name, value
		want    string
	}{
		"no proxy":                         {"192.0.2.1:5", nil, "192.0.2.1"},
		"a stranger says so":               {"192.0.2.1:5", []string{"X-Forwarded-For", "198.51.100.9"}, "192.0.2.1"},
		"one proxy":                        {"10.0.0.1:5", []string{"X-Forwarded-For", "198.51.100.9"}, "198.51.100.9"},
		"what the client wrote":            {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.7, 198.51.100.9"}, "198.51.100.9"},
		"two proxies":                      {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.7, 198.51.100.9, 10.0.0.2"}, "198.51.100.9"},
		"two lines":                        {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.7", "X-Forwarded-For", "198.51.100.9"}, "198.51.100.9"},
		"nonsense":                         {"10.0.0.1:5", []string{"X-Forwarded-For", "198.51.100.9, unknown"}, "10.0.0.1"},
		"all are proxies":                  {"10.0.0.1:5", []string{"X-Forwarded-For", "10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"no header":                        {"10.0.0.1:5", nil, "10.0.0.1"},
		"with a port":                      {"10.0.0.1:5", []string{"X-Forwarded-For", "198.51.100.9:4711"}, "198.51.100.9"},
		"IPv6":                             {"[fd00::1]:5", []string{"X-Forwarded-For", "2001:db8::1"}, "2001:db8::1"},
		"IPv4 in IPv6":                     {"[::ffff:10.0.0.1]:5", []string{"X-Forwarded-For", "::ffff:198.51.100.9"}, "198.51.100.9"},
		"Forwarded":                        {"10.0.0.1:5", []string{"Forwarded", `for=203.0.113.7, For="[2001:db8::1]:4711";proto=https`}, "2001:db8::1"},
		"Forwarded without an address":     {"10.0.0.1:5", []string{"Forwarded", "for=203.0.113.7, for=_hidden"}, "10.0.0.1"},
		"X-Forwarded-For before the other": {"10.0.0.1:5", []string{"Forwarded", "for=203.0.113.7", "X-Forwarded-For", "198.51.100.9"}, "198.51.100.9"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Add(c.headers[i], c.headers[i+1])
		}
		if got := clientAddr(r, trusted); got.String() != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	long := &http.Request{RemoteAddr: "10.0.0.1:5", Header: http.Header{"X-Forwarded-For": {strings.Repeat("10.0.0.2,", 10_000) + "10.0.0.3"}}}
	if n := len(hops(long.Header)); n != maxHops {
		t.Errorf("%d addresses are read", n)
	}
}

// Hundreds of wrong tokens a second through a proxy keep nobody out who comes
// through the same one, not even a token that the node has never seen; not when
// the proxy says who is who, and not when it does not.
func TestGuessingBehindAProxyLocksNobodyOut(t *testing.T) {
	t.Parallel()
	for name, trusted := range map[string][]netip.Prefix{"a known proxy": {netip.MustParsePrefix("127.0.0.0/8")}, "an unknown proxy": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *Options) { o.TrustedProxies = trusted })
			ctx, cancel := context.WithCancel(t.Context())
			var attack sync.WaitGroup
			for i := range 4 {
				attack.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						req, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/v1/tasks", nil)
						req.Header.Set("Authorization", fmt.Sprintf("Bearer wrong-%d-%d", i, n))
						req.Header.Set("X-Forwarded-For", "203.0.113.7")
						if resp, err := b.http.Do(req); err == nil {
							_ = resp.Body.Close()
						}
					}
				})
			}
			for b.tokens.looks() < 10*failuresAtOnce { // the attack is under way
				status, _, _ := b.raw(t, "GET", "/v1/tasks", "", "Authorization", "Bearer nobody", "X-Forwarded-For", "203.0.113.7")
				if status != 401 && status != 429 {
					t.Errorf("a wrong token is answered %d", status)
				}
			}
			for i := range 200 {
				secret := fmt.Sprintf("fresh-%d", i)
				b.tokens.set(secret, access.Token{ID: int64(100 + i), Name: secret, Namespace: "*", Scopes: access.Scopes})
				if status, _, body := b.raw(t, "GET", "/v1/whoami", "", "Authorization", "Bearer "+secret, "X-Forwarded-For", "198.51.100.9"); status != 200 {
					t.Errorf("request %d with a good token: %d %s", i, status, body)
				}
			}
			cancel()
			attack.Wait()
		})
	}
}
