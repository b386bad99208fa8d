// Package quotas keeps the quotas of namespaces, and how much of them is used.
//
// A namespace without a quota costs no query: the namespaces with quotas are read at most once a second, so another node follows a
// change within that time. A namespace with a quota for jobs has a row in quota_use, under whose lock new jobs are admitted. The
// row has the number of waiting jobs at the last count, and the number of jobs that were admitted since. Their sum is never less
// than the number of waiting jobs, so a quota holds on any number of nodes. Only when the sum leaves too little capacity are the
// jobs counted again.
//
// Bytes of logs are counted by the hour of each piece, in the transaction that writes it. The pass that deletes an hour of logs
// deletes its count, so bytes are never counted again.
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

// Store keeps the quotas of namespaces.
type Store struct {
	*base.Store

	mu         sync.Mutex
	saves      int // number of changes of quotas: quotas that were read before a change are not cached after it
	readAt     time.Time
	known      map[string]access.Namespace // with quotas
	lastCounts map[string]lastCount        // by owner

	calls calls
}

// New returns the part of a store that keeps quotas.
func New(b *base.Store) *Store {
	s := &Store{Store: b, lastCounts: map[string]lastCount{}}
	b.OnCreate(func(c *base.Change, noun, namespace, name string) error {
		return s.In(c).Created(noun, namespace, name)
	})
	return s
}

// Change is a transition under way, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

// follow is how soon a node follows a change of quotas by another node.
const follow = time.Second

func scanNamespace(rows base.Rows) (n access.Namespace, err error) {
	return n, rows.Scan(base.ScanDoc(&n))
}

// of returns a namespace, if it has a quota.
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

// recall returns the cached namespaces with quotas, and whether they are recent.
func (s *Store) recall() (known map[string]access.Namespace, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.known != nil && time.Since(s.readAt) < follow
}

// read reads all namespaces with quotas, and caches them.
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
		s.known, s.lastCounts = nil, map[string]lastCount{}
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

// Over is the cause of a refusal by a quota. The observer counts it once.
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

// refusalNote is the note of an occurrence whose job a quota refused.
func refusalNote(n access.Namespace, used int) string {
	return "namespace " + n.Name + " has " + core.Plural(used, "job") + " waiting of a quota of " + core.Plural(n.Quota.Waiting, "job")
}
