package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// seats keep, for what a busy node does again and again, the connections that did
// it a moment ago. A process of the server that is asked something for the first
// time reads what it has to know of the tables and makes a plan, for 3 to 10 ms a
// statement; the pool hands its connections to whoever comes next, so each had to
// learn everything.
type seats struct {
	pool *pgxpool.Pool
	idle time.Duration // keptIdle, but in tests
	off  bool          // [base.Claims.NoSeats]

	mu     sync.Mutex
	kept   map[string][]*seat // by the name of the transition
	closed bool
}

// seat is a connection, perhaps one that was kept.
type seat struct {
	*pgxpool.Conn
	since time.Time   // it came from the pool
	leave *time.Timer // set while it is kept
}

const (
	// keptIdle is how long a connection is kept that nobody uses. A busy node is back
	// within milliseconds; who uses the pool itself may wait as long for one.
	keptIdle = 200 * time.Millisecond
	// keptFor is how long after it came from the pool one is given back at last: the
	// pool replaces what is old, and sees only what comes back to it.
	keptFor = time.Minute
	// keptEach are the connections kept for one name: a worker has two calls
	// with results under way.
	keptEach = 2
)

// repeated are the transitions that a busy node has most of, and that ask most.
func repeated(name string) bool { return name == "claim" || name == "finish" }

func newSeats(pool *pgxpool.Pool) *seats {
	return &seats{pool: pool, idle: keptIdle, kept: map[string][]*seat{}}
}

// take is a connection for a transition of some name: one that was kept for it,
// one of the pool's, or where the pool has none left one that was kept for another.
func (s *seats) take(ctx context.Context, name string) (*seat, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c := s.find(name); c != nil {
		return c, nil
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &seat{Conn: conn, since: time.Now()}, nil
}

func (s *seats) find(name string) *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.popLocked(name); c != nil || len(s.kept) == 0 {
		return c
	}
	if used, most := s.use(); used >= most {
		for other := range s.kept {
			return s.popLocked(other)
		}
	}
	return nil
}

// popLocked is the one that was used last.
func (s *seats) popLocked(name string) *seat {
	list := s.kept[name]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	s.removeLocked(name, c)
	return c
}

// removeLocked reports that a seat was kept.
func (s *seats) removeLocked(name string, c *seat) bool {
	list := s.kept[name]
	i := slices.Index(list, c)
	if i < 0 {
		return false
	}
	c.leave.Stop()
	if s.kept[name] = slices.Delete(list, i, i+1); len(s.kept[name]) == 0 {
		delete(s.kept, name)
	}
	return true
}

// giveBack keeps a connection for more of the same, or gives it back to the pool
// where that may need it.
func (s *seats) giveBack(name string, c *seat) {
	pg := c.Conn.Conn().PgConn()
	fit := !pg.IsClosed() && !pg.IsBusy() && pg.TxStatus() == 'I' && time.Since(c.since) < keptFor
	used, most := s.use()
	if s.off || !repeated(name) || !fit || used > most/2 || !s.keep(name, c) {
		c.Release()
	}
}

// use is how many connections are in use, kept or being opened, and how many there
// may be.
func (s *seats) use() (used, most int32) {
	st := s.pool.Stat()
	return st.TotalConns() - st.IdleConns(), st.MaxConns()
}

func (s *seats) keep(name string, c *seat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.kept[name]) >= keptEach {
		return false
	}
	s.kept[name] = append(s.kept[name], c)
	c.leave = time.AfterFunc(s.idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.removeLocked(name, c) {
			c.Release()
		}
	})
	return true
}

// close gives back all that is kept, and keeps nothing any more.
func (s *seats) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for name := range s.kept {
		for c := s.popLocked(name); c != nil; c = s.popLocked(name) {
			c.Release()
		}
	}
}
