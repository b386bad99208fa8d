// Package hooks keeps the hooks, records the events that they get in the transactions in which they happen, and hands
// them out for delivery.
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

	placing turns // of pulled hooks

	mu      sync.Mutex
	version int64 // of all hooks together, as far as they are known; 0: they are not
	known   *book
}

// book is all hooks, without usable secrets.
type book struct {
	of      map[string][]hook.Hook // by namespace
	succeed []string               // namespaces with a hook that gets successes, each of which has to be read for it
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

var none = &book{}

// New is the part of a store that keeps them.
func New(b *base.Store, alerts *alerts.Store) *Store { return &Store{Store: b, alerts: alerts} }

// topic is for those who deliver events.
const topic = "hooks"

// WokenHooks returns a channel that is closed when events may wait that the last pass did not see.
func (s *Store) WokenHooks() <-chan struct{} { return s.Hub.On(topic) }

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}

// Docs are the hooks as documents.
var Docs = documents.Kind[hook.Hook]{
	Noun: "hook", List: "belfry hook list",
	Head: func(d *hook.Hook) documents.Head {
		return documents.Head{Namespace: &d.Namespace, Name: &d.Name, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
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
	Saved: enable,
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

// edited is set in a transition that changes a hook: what it reads of them is not what others see.
type edited struct{ is bool }

// changed raises the version of all hooks together, last in the transition: it is one row, and a transition that held it while it
// waits for another document would hold up all that save hooks, or wait for one of them that waits for it.
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

// enable begins the deliveries of a hook anew: it was saved, or is resumed, and whatever kept it from being delivered to
// may be mended.
func enable(c *base.Change, d hook.Hook) error {
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.hooks (id, namespace, name, paused, pull)
		values ($1, $2, $3, $4, $5)
		on conflict (id) do update
		set paused = excluded.paused, due_at = 0, tries = 0, disabled_at = 0, reason = ''
		where belfry.hooks.pull = excluded.pull`, d.ID, d.Namespace, d.Name, base.Bit(d.Paused), base.Bit(d.Pull))
	if err != nil {
		return err
	}
	if n == 0 {
		return pullStays()
	}
	c.Wake(topic)
	if d.Pull {
		c.Wake(pullTopic(d.ID))
	}
	return changed(c)
}

// SaveHook creates or replaces a hook. Where it has [core.Redacted] for a secret, the one that is there is kept. Its
// deliveries begin anew if it was disabled.
func (s *Store) SaveHook(ctx context.Context, d hook.Hook) (hook.Hook, error) {
	return documents.Save(ctx, s.Store, Docs, d)
}

// DeleteHook removes a hook. Its events that were not delivered are not.
func (s *Store) DeleteHook(ctx context.Context, namespace, name string) error {
	return documents.Delete(ctx, s.Store, Docs, namespace, name)
}

// Hook is one hook, without its secrets.
func (s *Store) Hook(ctx context.Context, namespace, name string) (hook.Hook, error) {
	d, err := documents.Read(ctx, s.Store, Docs, namespace, name)
	return d.Redacted(), err
}

// ListHooks lists hooks by name, without their secrets.
func (s *Store) ListHooks(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Hook], error) {
	return documents.List(ctx, s.Store, Docs, f)
}

// HookSecrets is one hook as a channel with its secrets, for who sends through it.
func (s *Store) HookSecrets(ctx context.Context, namespace, name string) (alert.Channel, error) {
	d, err := documents.Read(ctx, s.Store, Docs, namespace, name)
	if err == nil && d.Pull {
		err = core.Errorf(core.Conflict, "hook %q is pulled: it has no address", name).WithHint("ask for its events: belfry hook listen %s", name)
	}
	return Docs.Open(s.Store, d).Channel(), err
}

// PauseHook pauses the deliveries of a hook, or resumes them. Events recorded meanwhile wait. To resume one that was
// disabled tries again at once.
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

// resume tries a hook again at once that is disabled, or waits after a failure. Its definition stays.
func (c *Change) resume(d hook.Hook) error {
	n, err := c.Tx.Exec(c.Ctx, `
		update belfry.hooks
		set due_at = 0, tries = 0, disabled_at = 0, reason = ''
		where id = $1 and (tries > 0 or disabled_at > 0)`, d.ID)
	if err != nil || n == 0 {
		return err
	}
	c.Wake(topic)
	return c.Audit("resume", "hook", d.Namespace, d.Name, "", nil, nil)
}

// all are the hooks of every namespace, without usable secrets. They are read when their version is not known, which
// costs nothing where there is none.
func (c *Change) all() (*book, error) {
	version := c.Hooks
	switch {
	case c.Version != nil:
		version = c.Version("hook_version") + 1
	case version == 1: // none was ever saved
		return none, nil
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
