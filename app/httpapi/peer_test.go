package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Hundreds of wrong tokens a second through a proxy keep nobody out who comes
// through the same one, not even a token that the node has never seen; not when
// the proxy says who is who, and not when it does not.
func TestGuessedTokensBehindAProxyLockOutNoClient(t *testing.T) {
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
			for b.tokens.looks() < 10*api.FailuresAtOnce { // the attack is under way
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
