//go:build linux

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// link is the network between one node and PostgreSQL.
type link struct {
	*toxiproxy.Proxy
	url string // of the database, through it
}

// newLink starts a proxy in front of the database.
func newLink(t testing.TB, database string) *link {
	t.Helper()
	to, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	l := &link{Proxy: toxiproxy.NewProxy(server, "link", freePort(t), to.Host)}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	to.Host = l.Listen
	l.url = to.String()
	return l
}

// cut closes the connections of some nodes and refuses new ones.
type cut struct{ victims []*place }

func drawCut(c *chaos, r *rand.Rand) fault { return &cut{c.drawPlaces(r)} }

func (f *cut) Begin(*chaos) {
	for _, n := range f.victims {
		n.link.Stop()
	}
}

func (f *cut) Heal(c *chaos) {
	for _, n := range f.victims {
		if err := n.link.Start(); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (f *cut) String() string { return fmt.Sprintf("connections of %v cut", f.victims) }

// toxic disturbs the present and new connections of some nodes.
type toxic struct {
	victims []*place
	says    string
	json    []string
}

// drawDelay delays every packet.
func drawDelay(c *chaos, r *rand.Rand) fault {
	late := 20 + r.IntN(200)
	return &toxic{c.drawPlaces(r), fmt.Sprintf("%dms late to", late), []string{
		fmt.Sprintf(`{"name":"late","type":"latency","stream":"downstream","attributes":{"latency":%d,"jitter":%d}}`, late, late/2),
	}}
}

// drawHalfOpen drops the data in one direction or both, while the connections look
// open.
func drawHalfOpen(c *chaos, r *rand.Rand) fault {
	f := &toxic{victims: c.drawPlaces(r)}
	way := [][]string{{"upstream"}, {"downstream"}, {"upstream", "downstream"}}[r.IntN(3)]
	for _, w := range way {
		f.json = append(f.json, fmt.Sprintf(`{"name":"silent-%s","type":"timeout","stream":%q,"attributes":{"timeout":0}}`, w, w))
	}
	f.says = fmt.Sprintf("nothing arrives %v of", way)
	return f
}

func (f *toxic) Begin(c *chaos) {
	for _, n := range f.victims {
		for _, j := range f.json {
			if _, err := n.link.Toxics.AddToxicJson(strings.NewReader(j)); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

func (f *toxic) Heal(*chaos) {
	for _, n := range f.victims {
		n.link.Toxics.ResetToxics(context.Background())
	}
}

func (f *toxic) String() string { return fmt.Sprintf("%s %v", f.says, f.victims) }
