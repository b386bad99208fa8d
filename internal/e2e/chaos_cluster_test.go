//go:build linux

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/history"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/view"
)

// sessionTTL is short enough to give up a node within a round, and long enough for sessions to survive on a busy machine.
const sessionTTL = 2 * time.Second

// usualTTL is the default of operators.
const usualTTL = 30 * time.Second

// chaos is the state of one running history.
type chaos struct {
	t       *testing.T
	site    *site
	random  *rand.Rand
	seed    uint64
	history string // the file that handlers write
	places  []*place
	load    *load
	without map[string]string // kinds of faults that are impossible here, and why

	disk   string         // a small disk of its own for the database; "" if there is none
	file   string         // of the database; SQLite
	server *pgtest.Server // PostgreSQL
	direct string         // URL of the database past the proxies
	clock  clock
	off    time.Duration // the offset of that clock

	ttl    time.Duration // of sessions
	marks  sync.WaitGroup
	lives  []*process
	strays []string // nodes that ended without a signal of the test

	recorder *history.Writer // of the answers to clients
	recorded string          // its file
}

// place is the address and process of a node. A restarted node keeps its address.
type place struct {
	*process
	id      string
	address string
	link    *link
	api     *client.Client
	killed  bool
}

func (p *place) String() string { return p.id }

// setting has the parameters of a history.
type setting struct {
	database string
	seed     int64
	rounds   int
}

// long reports a long run, which covers all faults.
func (o setting) long() bool { return o.rounds > fewRounds }

func newChaos(t *testing.T, o setting) *chaos {
	c := &chaos{t: t, seed: uint64(o.seed), random: rand.New(rand.NewPCG(uint64(o.seed), 1)), without: map[string]string{}, ttl: sessionTTL}
	var why string
	if c.disk, why = pgtest.SmallDisk(t, fmt.Sprintf("%dm", 100+8*o.rounds)); why != "" {
		if o.long() {
			t.Fatal(why + "; be root, or let sudo know you first: sudo -v")
		}
		c.without["full disk"] = why
	}
	if o.database == "sqlite" {
		c.onSQLite(o)
	} else {
		c.onPostgreSQL(o)
	}
	c.history = filepath.Join(c.site.dir, "history")
	c.recorder, c.recorded = newRecorder(t, c.site.dir, fmt.Sprintf("chaos lane, %s, seed %d, %d rounds", o.database, o.seed, o.rounds))
	for kind, why := range c.without {
		t.Logf("never here: %s, because %s", kind, why)
	}
	return c
}

func (c *chaos) onSQLite(o setting) {
	dir := c.disk
	if dir == "" {
		dir = c.t.TempDir()
	}
	c.file = filepath.Join(dir, "belfry.db")
	c.site = newSite(c.t, "sqlite:"+c.file)
	c.site.env = []string{"BELFRY_TOKEN_FILE=" + c.site.tokenFile()}
	c.places = []*place{{id: "A", address: freePort(c.t)}}
	if !o.long() {
		c.without["clock"] = "it takes a build of its own, which only the longer lane makes"
		return
	}
	c.site.program = steppedBelfry(c.t, c.packs())
	var env string
	c.clock, env = stepTime(c.t)
	c.site.env = append(c.site.env, env)
}

// packs draws whether every claim makes a pack.
func (c *chaos) packs() bool {
	yes := c.random.IntN(3) > 0
	if yes {
		c.t.Log("each claim makes a pack")
	}
	return yes
}

func (c *chaos) onPostgreSQL(o setting) {
	fake, env := fakeTime(c.t)
	c.clock = fake
	c.server = pgtest.NewServer(c.t, pgtest.Options{Env: env, Settings: map[string]string{"max_connections": "60"}})
	c.direct = c.server.New(c.t)
	if c.disk != "" {
		c.moveToSmallDisk()
	}
	c.site = newSite(c.t, c.direct)
	if o.long() && c.packs() {
		c.site.program = packingBelfry(c.t)
	}
	for i := range []int{1, 2, 2, 3, 3}[c.random.IntN(5)] {
		l := newLink(c.t, c.direct)
		c.places = append(c.places, &place{id: string(rune('A' + i)), address: freePort(c.t), link: l})
	}
}

// moveToSmallDisk moves the database to the small disk. The server's log stays
// where it is, since the server ends when it cannot write its log.
func (c *chaos) moveToSmallDisk() {
	db, err := pgx.Connect(c.t.Context(), c.server.URL("postgres"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close(context.Background()) //nolint:errcheck // a connection without a transaction
	var data string
	if err := db.QueryRow(c.t.Context(), `show data_directory`).Scan(&data); err != nil {
		c.t.Fatal(err)
	}
	name := strings.TrimPrefix(must[*pgx.ConnConfig](c.t)(pgx.ParseConfig(c.direct)).Database, "/")
	space := filepath.Join(c.disk, "space")
	if err := os.Mkdir(space, 0o777); err != nil {
		c.t.Fatal(err)
	}
	uid, gid := ownerOf(c.t, data)
	if err := os.Chown(space, uid, gid); err != nil {
		c.t.Fatal(err)
	}
	for _, q := range []string{`create tablespace small location '` + space + `'`, `alter database ` + name + ` set tablespace small`} {
		if _, err := db.Exec(c.t.Context(), q); err != nil {
			c.t.Fatalf("%s: %v", q, err)
		}
	}
}

// connect connects to the database without a proxy.
func (c *chaos) connect() (*pgx.Conn, error) {
	ctx, stop := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer stop()
	return pgx.Connect(ctx, c.direct)
}

// drawPlaces draws one node, or all.
func (c *chaos) drawPlaces(r *rand.Rand) []*place {
	if r.IntN(3) == 0 {
		return c.places
	}
	one := r.IntN(len(c.places))
	return c.places[one : one+1]
}

// launch starts a node and does not wait for it.
func (c *chaos) launch(n *place) {
	c.t.Helper()
	flags := []string{
		"--listen", n.address, "--allow-commands", "--session-ttl", c.ttl.String(), "--grace", "5s",
		"--queues", "default=6,narrow=4", "--retention-age", "3650d",
	}
	if n.link != nil {
		flags = append(flags, "--database", n.link.url, "--max-conns", "6")
	} else {
		flags = append(flags, "--database", c.site.database)
	}
	n.process = c.site.launchServe(flags...)
	c.lives = append(c.lives, n.process)
	n.killed = false
}

func (c *chaos) kill(n *place) {
	c.collect(n)
	n.killed = true
	n.process.kill()
}

// collect records a node that ended without a signal of the test.
func (c *chaos) collect(n *place) {
	if !n.killed && !n.running() {
		c.strays = append(c.strays, fmt.Sprintf("%s at %s ended by itself: %v\n%s", n.name, n.id, n.err, tail(n.stderr.String())))
	}
}

func (c *chaos) ready(n *place) {
	c.t.Helper()
	n.says(n.stdout, patience, `^Next, in another terminal: `)
}

// ensure starts the nodes that do not run, as a supervisor would.
func (c *chaos) ensure() {
	c.t.Helper()
	var started []*place
	for _, n := range c.places {
		if n.process == nil || !n.running() {
			if n.process != nil {
				c.collect(n)
			}
			c.launch(n)
			started = append(started, n)
		}
	}
	for _, n := range started {
		c.ready(n)
	}
}

// begin starts the nodes, applies the definitions, and starts the load.
func (c *chaos) begin() {
	c.ensure()
	for _, n := range c.places {
		n.api = c.site.client("http://" + n.address)
	}
	must[view.Applied](c.t)(c.places[0].api.Apply(c.t.Context(), definitions(c.history), wire.ApplyOptions{}))
	c.load = startLoad(c)
}

// mark adds a line between those of the handlers. One write to a file opened for
// appending is one line, and the order of lines is the order of events.
func (c *chaos) mark(what, who string) {
	c.t.Helper()
	if err := note(c.history, what, who, 0, 0, 0); err != nil {
		c.t.Fatal(err)
	}
}

// later runs a function after a delay, and at the latest before the history is read.
func (c *chaos) later(d time.Duration, do func()) {
	c.marks.Go(func() {
		<-time.After(d)
		do()
	})
}
