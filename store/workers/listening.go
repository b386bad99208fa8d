package workers

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// listening holds whether this process listens for workers, and its last look at other nodes.
type listening struct {
	mu   sync.Mutex
	node string // id of this life; empty: this process does not listen
	none bool   // the last look found no node that listens
}

// Listen records that this node can hear workers which reach the database through it. The node calls it every [job.ListenEvery]
// as long as that is so. A session with [job.WorkerInfo.Remote] is given up only for a silence during which a node listened. An
// engine that runs while all API nodes are away hears no worker, and must not conclude that the workers are dead.
func (s *Store) Listen(ctx context.Context) error {
	node := s.listening.begin()
	return s.write(ctx, "listen", func(c *Change) error {
		_, err := c.Tx.Exec(ctx, `
			insert into belfry.listening (node, since, until)
			values ($1, $2, $2)
			on conflict (node) do update
			set since = case when belfry.listening.until between $3 and $2 then belfry.listening.since else $2 end, until = $2`,
			node, base.Micros(c.Now), base.Micros(c.Now.Add(-job.ListenGap)))
		return err
	})
}

func (l *listening) begin() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.node == "" {
		l.node = uuid.NewString()
	}
	return l.node
}

func (l *listening) does() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node != ""
}

// heard returns the last span in which workers could be heard through nodes.
func (c *Change) heard() (job.Listening, error) {
	spans, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (l job.Listening, err error) {
		return l, r.Scan(base.ScanTime(&l.Since), base.ScanTime(&l.Until))
	}, `select since, until from belfry.listening order by until desc limit 1000`)
	if err != nil {
		return job.Listening{}, err
	}
	out := job.Heard(spans, c.Now)
	if c.Now.Sub(out.Until) <= job.ListenGap {
		c.After(func() { c.s.listening.setUnheard(false) })
		return out, nil
	}
	n, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select count(*)
		from belfry.sessions
		where ended_at = 0 and expires_at < $1 and remote = 1`, base.Micros(c.Now.Add(-job.LostGrace)))
	if n > 0 {
		c.After(func() {
			if c.s.listening.setUnheard(true) {
				c.s.Opt.Logger.Warn("no node serves the API, so workers elsewhere cannot renew: they are not given up yet",
					"sessions", n, "heard", out.Until, "most", job.UnheardFor)
			}
		})
	}
	return out, err
}

// setUnheard records whether no node listens, and reports whether that has changed.
func (l *listening) setUnheard(none bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.none
	l.none = none
	return was != none
}
