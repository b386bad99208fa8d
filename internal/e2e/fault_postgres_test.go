//go:build linux

package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// outage kills PostgreSQL or stops it in order, and starts it again.
type outage struct{ kill bool }

func drawOutage(_ *chaos, r *rand.Rand) fault { return &outage{r.IntN(3) > 0} }

func (f *outage) Begin(c *chaos) {
	end := c.server.Stop
	if f.kill {
		end = c.server.Kill
	}
	if err := end(); err != nil {
		c.t.Fatal(err)
	}
}

func (f *outage) Heal(c *chaos) {
	if err := c.server.Restart(); err != nil {
		c.t.Fatal(err)
	}
}

func (f *outage) String() string {
	if f.kill {
		return "kill -9 of PostgreSQL"
	}
	return "stop of PostgreSQL"
}

// backends ends connections of nodes on the side of the database. After kill -9 of
// one backend, PostgreSQL ends all of them and recovers.
type backends struct{ kill bool }

func drawBackends(_ *chaos, r *rand.Rand) fault { return &backends{r.IntN(3) == 0} }

func (f *backends) Begin(c *chaos) {
	db, err := c.connect()
	if err != nil {
		return // the database is away already
	}
	defer db.Close(context.Background()) //nolint:errcheck // this connection may have been ended too
	const theirs = ` from pg_stat_activity where application_name = 'belfry' and backend_type = 'client backend'`
	if !f.kill {
		_, _ = db.Exec(c.t.Context(), `select pg_terminate_backend(pid)`+theirs)
		return
	}
	var pid int
	if db.QueryRow(c.t.Context(), `select pid`+theirs+` order by random() limit 1`).Scan(&pid) == nil {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			c.t.Fatal(err)
		}
	}
}

func (f *backends) Heal(*chaos) {}

func (f *backends) String() string {
	if f.kill {
		return "kill -9 of a backend"
	}
	return "pg_terminate_backend of all"
}

// hogs opens all connections that the server permits, so that nodes whose
// connections are ended get no new ones.
type hogs struct {
	stop context.CancelFunc
	gone sync.WaitGroup
}

func drawHogs(*chaos, *rand.Rand) fault { return &hogs{} }

func (f *hogs) Begin(c *chaos) {
	ctx, stop := context.WithCancel(c.t.Context())
	f.stop = stop
	full := make(chan struct{})
	f.gone.Go(func() {
		var once sync.Once
		defer once.Do(func() { close(full) })
		var held []*pgx.Conn
		defer func() {
			for _, db := range held {
				_ = db.Close(context.Background())
			}
		}()
		again := time.NewTicker(5 * time.Millisecond)
		defer again.Stop()
		for ctx.Err() == nil {
			db, err := pgx.Connect(ctx, c.direct)
			if err == nil {
				held = append(held, db)
				continue
			}
			once.Do(func() { // after the first refusal, each free connection is taken
				if len(held) > 0 {
					_, _ = held[0].Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'belfry'`)
				}
				close(full)
			})
			select {
			case <-again.C:
			case <-ctx.Done():
			}
		}
	})
	<-full
}

func (f *hogs) Heal(*chaos) {
	f.stop()
	f.gone.Wait()
}

func (f *hogs) String() string { return "all connections of PostgreSQL taken by others" }
