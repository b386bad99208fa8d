package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
)

// Registries are the servers that refer to the servers of registries.
type Registries struct {
	RDAP  string // URL of the bootstrap file (RFC 9224); default: IANA's
	WHOIS string // host:port of the server that refers to others; default: whois.iana.org:43
}

const (
	defaultBootstrap = "https://data.iana.org/rdap/dns.json"
	defaultWHOIS     = "whois.iana.org:43"

	maxBootstrap  = 4 << 20
	bootstrapLife = 24 * time.Hour
	bootstrapRest = time.Minute // until the next try after a failed read
)

// registries caches the bootstrap file. The latency of a check excludes its download.
type registries struct {
	Registries
	client *http.Client

	mu      sync.Mutex
	servers map[string]string // RDAP server by the end of a name
	until   time.Time
}

func newRegistries(o Options) *registries {
	r := &registries{Registries: o.Registries, client: &http.Client{Transport: guard.Transport(o.Guard)}}
	r.RDAP, r.WHOIS = core.Or(r.RDAP, defaultBootstrap), core.Or(r.WHOIS, defaultWHOIS)
	return r
}

// server returns the URL of the RDAP server of a name, or "" if none is known.
func (r *registries) server(ctx context.Context, name string) string {
	r.mu.Lock()
	servers, fresh := r.servers, time.Now().Before(r.until)
	r.mu.Unlock()
	if !fresh {
		read, err := r.bootstrap(ctx)
		r.mu.Lock()
		if err == nil {
			r.servers, r.until = read, time.Now().Add(bootstrapLife)
		} else if ctx.Err() == nil {
			r.until = time.Now().Add(bootstrapRest) // the old file stays in use
		}
		servers = r.servers
		r.mu.Unlock()
	}
	for end := name; end != ""; { // the longest known suffix decides
		if found := servers[end]; found != "" {
			return found
		}
		_, end, _ = strings.Cut(end, ".")
	}
	return ""
}

func (r *registries) bootstrap(ctx context.Context) (map[string]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.RDAP, nil)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the list of RDAP servers: status %d", resp.StatusCode)
	}
	var list struct {
		Services [][][]string `json:"services"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxBootstrap)).Decode(&list); err != nil {
		return nil, err
	}
	servers := map[string]string{}
	for _, s := range list.Services {
		if len(s) < 2 {
			continue
		}
		for _, end := range s[0] {
			for _, address := range s[1] {
				if old := servers[strings.ToLower(end)]; old == "" || strings.HasPrefix(address, "https:") && !strings.HasPrefix(old, "https:") {
					servers[strings.ToLower(end)] = address
				}
			}
		}
	}
	return servers, nil
}
