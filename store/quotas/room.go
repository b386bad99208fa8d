// Package quotas keeps how much namespaces may use, and how much they do.
//
// A namespace without a quota costs a look into memory: which ones have quotas is read at most once a second, so another
// node follows a change within that time. One with a quota for jobs has a row, which is the lock under which new jobs
// are let in. It says how many jobs waited when they were last counted, and how many were let in since: that is never
// less than how many wait, so what is let in never goes beyond the quota, on any number of nodes. Only when there seems
// to be no room are the jobs counted again.
//
// Bytes of logs are counted by the hour of each piece, in the transaction that keeps it. Removed pieces leave by the hour
// with the pass that removes it, so nothing is counted again.
package quotas

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// Store keeps how much namespaces may use.
type Store struct {
	*base.Store

	mu     sync.Mutex
	saves  int // how many changes of quotas there were, so that what was read before one is not kept
	readAt time.Time
	known  map[string]access.Namespace // with quotas
	looks  map[string]look             // by owner

	calls calls
}

// New is the part of a store that keeps them.
func New(b *base.Store) *Store {
	s := &Store{Store: b, looks: map[string]look{}}
	b.OnCreate(func(c *base.Change, noun, namespace, name string) error {
		return s.In(c).Created(noun, namespace, name)
	})
	return s
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

// follow is how soon a node follows a change of quotas that another one has made.
const follow = time.Second

func scanNamespace(rows base.Rows) (n access.Namespace, err error) {
	return n, rows.Scan(base.ScanDoc(&n))
}

// of is a namespace that has a quota.
func (c *Change) of(namespace string) (n access.Namespace, has bool, err error) {
	known, fresh := c.s.recall()
	if !fresh || c.s.Opt.Claims.NoKnown {
		if known, err = c.s.read(c.Ctx, c.Tx); err != nil {
			return n, false, err
		}
	}
	n, has = known[namespace]
	return n, has, nil
}

// recall is what was read last, and whether that is recent.
func (s *Store) recall() (known map[string]access.Namespace, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.known != nil && time.Since(s.readAt) < follow
}

// read reads all namespaces with quotas, and keeps them.
func (s *Store) read(ctx context.Context, tx base.Tx) (map[string]access.Namespace, error) {
	s.mu.Lock()
	saves := s.saves
	s.mu.Unlock()
	known, err := readAll(ctx, tx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saves == saves {
		s.known, s.readAt = known, time.Now()
	}
	return known, nil
}

func readAll(ctx context.Context, tx base.Tx) (map[string]access.Namespace, error) {
	all, err := base.Collect(ctx, tx, scanNamespace, `select doc from belfry.namespaces order by name`)
	known := make(map[string]access.Namespace, len(all))
	for _, n := range all {
		if !n.Quota.IsZero() {
			known[n.Name] = n
		}
	}
	return known, err
}

// Saved follows a change of a namespace's quota.
func (c *Change) Saved(n access.Namespace) error {
	s := c.s
	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.saves++
		s.known, s.looks = nil, map[string]look{}
	}
	c.After(forget)
	owner := ownerOf(n.Name)
	for o, has := range map[string]bool{owner: n.Quota.OfJobs(), definitionsOf(n.Name): n.Quota.OfDefinitions(), logsOf(n.Name): n.Quota.LogBytes > 0} {
		change := `delete from belfry.quota_use where owner = $1`
		if has {
			change = `insert into belfry.quota_use (owner) values ($1) on conflict (owner) do nothing`
		}
		changed, err := c.Tx.Exec(c.Ctx, change, o)
		if err == nil && changed > 0 && o == logsOf(n.Name) {
			err = c.countLogs(n.Name, has)
		}
		if err != nil {
			return err
		}
	}
	if n.Quota.Waiting == 0 {
		return nil
	}
	if _, _, err := c.lock(owner); err != nil {
		return err
	}
	if err := c.mark(n.Name); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `update belfry.quota_use set counted_at = 0, marked_at = $2 where owner = $1`, owner, base.Micros(c.Now))
	return err
}

// Over is a refusal as it is counted: once.
type Over struct {
	Namespace, Quota string
	told             atomic.Bool
}

func (o *Over) Error() string { return "namespace " + o.Namespace + " is over its quota " + o.Quota }

func refuse(n access.Namespace, quota string, limit, used, asked int64, wait time.Duration) error {
	e := n.Over(quota, limit, used, asked, wait)
	e.Err = &Over{Namespace: n.Name, Quota: quota}
	return e
}

func ownerOf(namespace string) string { return "namespace:" + namespace }

// The reason that an occurrence has when there is no room for its job.
func noRoom(n access.Namespace, used int) string {
	return "namespace " + n.Name + " has " + core.Plural(used, "job") + " waiting of a quota of " + core.Plural(n.Quota.Waiting, "job")
}
