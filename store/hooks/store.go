// Package hooks keeps the hooks, records their events in the transactions in which these happen, and hands events out for
// delivery. [Store] is called by package store for each change that a hook may select. An event is recorded once, exactly if
// its transaction commits, and is delivered at least once. Events of a pulled hook get their positions when they are read, so
// no reader passes an event that commits later.
package hooks

import (
	"context"
	"slices"
	"sync"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store/alerts"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/view"
)

// Store keeps the hooks and their events.
type Store struct {
	*base.Store
	alerts *alerts.Store

	placing rowLocks // serializes the placing of events, by pulled hook

	mu      sync.Mutex
	version int64 // of all hooks together, as of known; 0: unknown
	known   *book
}

// book is the set of all hooks, without usable secrets.
type book struct {
	of      map[string][]hook.Hook // by namespace
	succeed []string               // namespaces with a hook for successes, whose successful jobs have to be read
}

func bookOf(all []hook.Hook) *book {
	b := &book{of: map[string][]hook.Hook{}}
	for _, h := range all {
		b.of[h.Namespace] = append(b.of[h.Namespace], h)
		if !slices.Contains(b.succeed, h.Namespace) && slices.ContainsFunc(h.Types(), func(t string) bool { return slices.Contains(succeeded, t) }) {
			b.succeed = append(b.succeed, h.Namespace)
		}
	}
	return b
}

var noHooks = &book{}

// New is the part of a store that keeps them.
func New(b *base.Store, alerts *alerts.Store) *Store { return &Store{Store: b, alerts: alerts} }

// topic is the topic of processes that deliver events.
const topic = "hooks"

// WokenHooks returns a channel that is closed when there may be events that the last pass did not see.
func (s *Store) WokenHooks() <-chan struct{} { return s.Hub.On(topic) }

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}

// Docs is the document kind of hooks.
var Docs = documents.Kind[hook.Hook]{
	Noun: "hook", List: "belfry hook list",
	Head: func(d *hook.Hook) documents.Head {
		return documents.Head{Namespace: &d.Namespace, Name: &d.Name, Title: &d.Title, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: hook.Hook.WithDefaults, Validate: hook.Hook.Validate,
	Keep: hook.Hook.KeepSecrets, Shown: hook.Hook.Redacted,
	Sealed: func(s *base.Store, d hook.Hook) (hook.Hook, error) {
		return base.SealIn(s, base.PurposeOf("hook", d.Namespace, d.Name), d)
	},
	Opened: func(s *base.Store, d hook.Hook) hook.Hook {
		d, _ = base.OpenIn(s, base.PurposeOf("hook", d.Namespace, d.Name), d)
		return d
	},
	Check: func(c *base.Change, d hook.Hook) error {
		if err := d.CheckSecrets(); err != nil {
			return err
		}
		h, found, err := base.First(c.Ctx, c.Tx, scanHook, `select `+hookColumns+` from belfry.hooks where namespace = $1 and name = $2`, d.Namespace, d.Name)
		if err != nil {
			return err
		}
		if found && h.pull != int64(base.Bit(d.Pull)) {
			return pullStays()
		}
		others, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select count(*) from belfry.hooks where namespace = $1 and name <> $2`, d.Namespace, d.Name)
		if err == nil && others >= hook.MaxHooks {
			err = core.Errorf(core.Conflict, "namespace %q has %d hooks, which is as many as it may", d.Namespace, others).WithHint("delete one, or have one hook take events of more types: belfry hook list")
		}
		return err
	},
	Saved: saved,
	Deleted: func(c *base.Change, d hook.Hook) error {
		if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.hooks where id = $1`, d.ID); err != nil {
			return err
		}
		c.Wake(pullTopic(d.ID))
		return changed(c)
	},
}

func pullStays() error {
	return core.InvalidField("pull", "", "cannot be changed", "make another hook: what was delivered one way is not known to the other")
}

// edited is set in a transition that changes a hook: such a transition sees other hooks than the rest.
type edited struct{ is bool }

// changed raises the common version of all hooks, as the last action of the transition. The version is one row. If a transition
// held it while it waits for another document, it would hold up every transition that saves a hook, or deadlock with one.
func changed(c *base.Change) error {
	k := base.Kept[edited](c)
	if k.is {
		return nil
	}
	k.is = true
	c.Before(func() error {
		_, err := c.Tx.Exec(c.Ctx, `update belfry.hook_version set version = version + 1`)
		return err
	})
	return nil
}

// saved writes the delivery state of a saved hook. A change resets it, because it may fix the cause of the failures. Texts for
// people fix nothing.
func saved(c *base.Change, d, old hook.Hook) error {
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.hooks (id, namespace, name, paused, pull)
		values ($1, $2, $3, $4, $5)
		on conflict (id) do update
		set paused = excluded.paused
		where belfry.hooks.pull = excluded.pull`, d.ID, d.Namespace, d.Name, base.Bit(d.Paused), base.Bit(d.Pull))
	if err != nil {
		return err
	}
	if n == 0 {
		return pullStays()
	}
	old.Title, old.Description, old.Generation, old.UpdatedAt = d.Title, d.Description, d.Generation, d.UpdatedAt
	if base.Text(old) != base.Text(d) {
		if _, err := enable(c, d); err != nil {
			return err
		}
	}
	c.Wake(topic)
	if d.Pull {
		c.Wake(pullTopic(d.ID))
	}
	return changed(c)
}

// enable makes a hook due at once that is disabled or waits after a failure, and reports whether it was.
func enable(c *base.Change, d hook.Hook) (bool, error) {
	n, err := c.Tx.Exec(c.Ctx, `
		update belfry.hooks
		set due_at = 0, tries = 0, disabled_at = 0, reason = ''
		where id = $1 and (tries > 0 or disabled_at > 0)`, d.ID)
	return n > 0, err
}

// SaveHook creates or replaces a hook. If a secret is [core.Redacted], the stored secret is kept. The deliveries of a disabled
// hook start again.
func (s *Store) SaveHook(ctx context.Context, d hook.Hook) (hook.Hook, error) {
	return documents.Save(ctx, s.Store, Docs, d)
}

// DeleteHook deletes a hook. Its pending events are not delivered.
func (s *Store) DeleteHook(ctx context.Context, namespace, name string) error {
	return documents.Delete(ctx, s.Store, Docs, namespace, name)
}

// Hook returns one hook, without its secrets.
func (s *Store) Hook(ctx context.Context, namespace, name string) (hook.Hook, error) {
	d, err := documents.Read(ctx, s.Store, Docs, namespace, name)
	return d.Redacted(), err
}

// ListHooks lists hooks by name, without their secrets.
func (s *Store) ListHooks(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Hook], error) {
	return documents.List(ctx, s.Store, Docs, f)
}

// HookSecrets returns one hook as a channel with its secrets, for sending through it.
func (s *Store) HookSecrets(ctx context.Context, namespace, name string) (alert.Channel, error) {
	d, err := documents.Read(ctx, s.Store, Docs, namespace, name)
	if err == nil && d.Pull {
		err = core.Errorf(core.Conflict, "hook %q is pulled: it has no address", name).WithHint("ask for its events: belfry hook listen %s", name)
	}
	return Docs.Open(s.Store, d).Channel(), err
}

// PauseHook pauses or resumes the deliveries of a hook. Events recorded meanwhile wait. Resuming a disabled hook tries again at
// once.
func (s *Store) PauseHook(ctx context.Context, namespace, name string, paused bool) (out hook.Hook, err error) {
	err = s.write(ctx, "pause hook", func(c *Change) error {
		d, err := Docs.Read(ctx, c.Tx, namespace, name, c.SQL.ForUpdate("documents"))
		if err != nil {
			return err
		}
		if !paused && !d.Paused {
			if err := c.resume(d); err != nil {
				return err
			}
		}
		if d.Paused != paused {
			d = Docs.Open(s.Store, d)
			d.Paused = paused
			if _, err := Docs.Apply(c.Change, "hooks", []hook.Hook{d}); err != nil {
				return err
			}
		}
		out, err = Docs.Read(ctx, c.Tx, namespace, name, "")
		return err
	})
	return out.Redacted(), err
}

// resume enables a hook whose definition stays.
func (c *Change) resume(d hook.Hook) error {
	was, err := enable(c.Change, d)
	if err != nil || !was {
		return err
	}
	c.Wake(topic)
	return c.Audit("resume", "hook", d.Namespace, d.Name, "", nil, nil)
}

// allHooks returns the hooks of every namespace, without usable secrets. It reads them only if their version is not cached. If
// no hook was ever saved, it needs no query.
func (c *Change) allHooks() (*book, error) {
	version := c.Hooks
	switch {
	case c.Version != nil:
		version = c.Version("hook_version") + 1
	case version == 1: // no hook was ever saved
		return noHooks, nil
	}
	s := c.s
	if base.Kept[edited](c.Change).is {
		version = 0
	}
	s.mu.Lock()
	known, is := s.known, version > 0 && version == s.version
	s.mu.Unlock()
	if is {
		return known, nil
	}
	all, err := Docs.All(c.Ctx, c.Tx, core.AnyNamespace)
	if err != nil {
		return nil, err
	}
	known = bookOf(all)
	if version > 0 {
		s.mu.Lock()
		s.known, s.version = known, version
		s.mu.Unlock()
	}
	return known, nil
}
