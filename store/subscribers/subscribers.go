// Package subscribers keeps the subscribers of status pages. An address is a secret: it is sealed, compared by its hash, and
// never in the audit log, in logs or in messages.
package subscribers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/view"
)

// Store keeps subscribers of status pages.
type Store struct {
	*base.Store
	monitors *monitors.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, m *monitors.Store) *Store { return &Store{b, m} }

// contact holds the secrets of a subscriber: the address, and the key of the links.
type contact struct {
	Address core.Secret `json:"address"`
	Key     core.Secret `json:"key"`
}

// MapSecrets returns a copy in which f replaces every secret.
func (c contact) MapSecrets(f func(path string, s core.Secret) core.Secret) contact {
	return contact{f("address", c.Address), f("key", c.Key)}
}

// Row is a stored subscriber.
type Row struct {
	public.Subscriber
	PageID int64
	Key    string // of the links; a secret
}

const columns = `s.id, s.page_id, s.namespace, s.page, s.kind, s.state, s.created_at, s.confirmed_at, s.doc`

func (s *Store) scan(rows base.Rows) (r Row, err error) {
	var doc contact
	err = rows.Scan(&r.ID, &r.PageID, &r.Namespace, &r.Page, &r.Kind, &r.State, base.ScanTime(&r.CreatedAt), base.ScanTime(&r.ConfirmedAt), base.ScanDoc(&doc))
	doc, _ = base.OpenIn(s.Store, base.PurposeOf("subscriber", r.Namespace, r.Page), doc)
	r.Address, r.Key = string(doc.Address), string(doc.Key)
	return r, err
}

// hashOf returns the hash by which addresses are compared.
func hashOf(kind public.SubscriberKind, address string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + address))
	return hex.EncodeToString(sum[:])
}

// Subscribe asks an address to confirm its subscription to a status page, within a limit of requests. The answer does not
// reveal whether the address is subscribed.
func (s *Store) Subscribe(ctx context.Context, namespace, name string, kind public.SubscriberKind, address string) error {
	address, err := public.ReadAddress(kind, address)
	if err != nil {
		return err
	}
	hash := hashOf(kind, address)
	return s.Write(ctx, "subscribe", func(c *base.Change) error {
		page, err := monitors.StatusPages.Read(ctx, c.Tx, base.NamespaceOr(namespace), name, c.SQL.ForUpdate("documents"))
		if err == nil && (page.Off || page.Subscribe == nil) {
			err = core.Errorf(core.NotFound, "no status page %q takes subscriptions", name)
		}
		if err != nil {
			return err
		}
		if !page.Subscribe.IsWay(kind) {
			return core.InvalidField("kind", string(kind), "is not a way to subscribe to this page", "choose another one")
		}
		if err := Prune(c); err != nil {
			return err
		}
		row, found, err := base.First(ctx, c.Tx, s.scan, `select `+columns+` from belfry.subscribers s where s.page_id = $1 and s.hash = $2`, page.ID, hash)
		if err != nil {
			return err
		}
		a, err := s.earlierRequests(c, page.ID, hash)
		if err != nil {
			return err
		}
		a.State = row.State
		if !public.Ask(a, c.Now) {
			return nil
		}
		if !found {
			if row, err = s.insert(c, page, kind, address, hash); err != nil {
				return err
			}
		}
		if _, err := c.Tx.Exec(ctx, `insert into belfry.subscription_asks (hash, page_id, at) values ($1, $2, $3)`, hash, page.ID, base.Micros(c.Now)); err != nil {
			return err
		}
		how := "Follow the link"
		if kind == public.Webhook {
			how = "Answer with the challenge, or follow the link,"
		}
		return queueMessage(c, page.Namespace, public.SubscriberChannel(row.ID), alert.Notification{
			Type: alert.NotificationConfirm, At: c.Now, Title: "Confirm your subscription to " + page.Title,
			Text: how + " to be notified of what happens on this page. If you did not ask for this, do nothing: the request is forgotten within a day.",
		}, c.Now)
	})
}

func (s *Store) insert(c *base.Change, page public.StatusPage, kind public.SubscriberKind, address, hash string) (row Row, err error) {
	key := base.NewSecret("")
	doc, err := base.SealIn(s.Store, base.PurposeOf("subscriber", page.Namespace, page.Name), contact{core.Secret(address), core.Secret(key)})
	if err != nil {
		return row, err
	}
	row.ID, _, err = base.First(c.Ctx, c.Tx, base.ScanInt, `
		insert into belfry.subscribers (page_id, namespace, page, kind, state, hash, key_hash, created_at, doc)
		values ($1, $2, $3, $4, 'pending', $5, $6, $7, $8)
		returning id`, page.ID, page.Namespace, page.Name, string(kind), hash, base.HashSecret(key), base.Micros(c.Now), base.Text(doc))
	return row, err
}

// earlierRequests reads the numbers of earlier requests, under the lock of the page.
func (s *Store) earlierRequests(c *base.Change, page int64, hash string) (a public.Asked, err error) {
	a, _, err = base.First(c.Ctx, c.Tx, func(r base.Rows) (a public.Asked, err error) {
		return a, r.Scan(base.ScanTime(&a.LastAt), &a.AddressAsks, &a.PageAsks, &a.Confirmed, &a.Unconfirmed)
	}, `
		select
			coalesce((select max(at) from belfry.subscription_asks where hash = $1), 0),
			(select count(*) from belfry.subscription_asks where hash = $1 and at > $3),
			(select count(*) from belfry.subscription_asks where page_id = $2 and at > $4),
			(select count(*) from belfry.subscribers where page_id = $2 and state = 'confirmed'),
			(select count(*) from belfry.subscribers where page_id = $2 and state = 'pending')`,
		hash, page, base.Micros(c.Now.Add(-base.OneDay)), base.Micros(c.Now.Add(-time.Hour)))
	return a, err
}

// Prune deletes subscribers that did not confirm in time, and old requests.
func Prune(c *base.Change) error {
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.subscribers where state = 'pending' and created_at <= $1`, base.Micros(c.Now.Add(-public.UnconfirmedFor))); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.subscription_asks where at <= $1`, base.Micros(c.Now.Add(-base.OneDay)))
	return err
}

// PruneSubscribers is Prune as a transition of its own.
func (s *Store) PruneSubscribers(ctx context.Context) (more bool, err error) {
	return false, s.Write(ctx, "prune subscribers", Prune)
}

// Subscription returns the subscription of a link's key.
func (s *Store) Subscription(ctx context.Context, key string) (out public.Subscription, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		_, out, err = s.byKey(ctx, tx, key)
		return err
	})
	return out, err
}

func (s *Store) byKey(ctx context.Context, tx base.Tx, key string) (row Row, out public.Subscription, err error) {
	row, found, err := base.First(ctx, tx, s.scan, `select `+columns+` from belfry.subscribers s where s.key_hash = $1`, base.HashSecret(key))
	if err == nil && !found {
		err = core.Errorf(core.NotFound, "this link is not valid, or the subscription has ended").WithHint("subscribe again on the status page")
	}
	if err != nil {
		return row, out, err
	}
	page, err := monitors.StatusPages.Read(ctx, tx, row.Namespace, row.Page, "")
	return row, public.Subscription{Namespace: row.Namespace, Page: row.Page, Title: page.Title, Kind: row.Kind, State: row.State}, err
}

// ConfirmSubscription confirms the subscription of a link's key. Confirming it again changes nothing.
func (s *Store) ConfirmSubscription(ctx context.Context, key string) (out public.Subscription, err error) {
	if out, err = s.Subscription(ctx, key); err != nil { // by a reader: guessed keys must not hold up writers
		return out, err
	}
	err = s.Write(ctx, "confirm subscription", func(c *base.Change) error {
		var row Row
		if row, out, err = s.byKey(ctx, c.Tx, key); err != nil {
			return err
		}
		out.State, err = s.Confirm(c, row)
		return err
	})
	return out, err
}

// Confirm confirms a subscriber, if the status page has room.
func (s *Store) Confirm(c *base.Change, row Row) (public.SubscriberState, error) {
	if row.State == public.Confirmed {
		return row.State, nil
	}
	// Under the lock of the page: otherwise two could take the last place.
	if _, err := monitors.StatusPages.Read(c.Ctx, c.Tx, row.Namespace, row.Page, c.SQL.ForUpdate("documents")); err != nil {
		return row.State, err
	}
	n, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select count(*) from belfry.subscribers where page_id = $1 and state = 'confirmed'`, row.PageID)
	if err != nil {
		return row.State, err
	}
	if n >= public.MaxSubscribers {
		return row.State, core.Errorf(core.Conflict, "this status page has as many subscribers as it can have").WithHint("its feed needs no subscription")
	}
	_, err = c.Tx.Exec(c.Ctx, `update belfry.subscribers set state = 'confirmed', confirmed_at = $2 where id = $1 and state = 'pending'`, row.ID, base.Micros(c.Now))
	return public.Confirmed, err
}

// Unsubscribe ends the subscription of a key. Ending it again changes nothing.
func (s *Store) Unsubscribe(ctx context.Context, key string) (out public.Subscription, err error) {
	if out, err = s.Subscription(ctx, key); err != nil { // by a reader: guessed keys must not hold up writers
		return out, err
	}
	err = s.Write(ctx, "unsubscribe", func(c *base.Change) error {
		var row Row
		if row, out, err = s.byKey(ctx, c.Tx, key); err != nil {
			return err
		}
		out.State = public.Left
		return s.remove(c, row)
	})
	return out, err
}

// remove deletes a subscriber and its pending messages.
func (s *Store) remove(c *base.Change, row Row) error {
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.subscribers where id = $1`, row.ID); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.alerts
		set state = 'suppressed', reason = 'the subscription ended', ended_at = $3
		where namespace = $1 and channel = $2 and state = 'pending'`, row.Namespace, public.SubscriberChannel(row.ID), base.Micros(c.Now))
	return err
}

// Read returns a subscriber by its id, if it exists.
func (s *Store) Read(ctx context.Context, tx base.Tx, namespace string, id int64, lock string) (Row, bool, error) {
	return base.First(ctx, tx, s.scan, `select `+columns+` from belfry.subscribers s where s.id = $1 and s.namespace = $2`+lock, id, namespace)
}

// Subscribers lists the subscribers of a status page with their addresses, newest first.
func (s *Store) Subscribers(ctx context.Context, f view.SubscriberFilter) (p core.Page[public.Subscriber], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		page, err := monitors.StatusPages.Read(ctx, tx, base.NamespaceOr(f.Namespace), f.StatusPage, "")
		if err != nil {
			return err
		}
		w := &base.Where{}
		w.And("s.page_id = ?", page.ID)
		if before > 0 {
			w.And("s.id < ?", before)
		}
		rows, err := base.Collect(ctx, tx, s.scan, `
			select `+columns+`
			from belfry.subscribers s
			where `+w.Sql()+`
			order by s.id desc
			limit `+strconv.Itoa(limit+1), w.Args...)
		all := make([]public.Subscriber, len(rows))
		for i, r := range rows {
			all[i] = r.Subscriber
		}
		p = base.Page(all, limit, func(s public.Subscriber) string { return base.EncodeCursor(strconv.FormatInt(s.ID, 10)) })
		return err
	})
	return p, err
}

// CountSubscribers counts the subscribers of a status page.
func (s *Store) CountSubscribers(ctx context.Context, namespace, name string) (n view.SubscriberCounts, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		page, err := monitors.StatusPages.Read(ctx, tx, base.NamespaceOr(namespace), name, "")
		if err != nil {
			return err
		}
		n = view.SubscriberCounts{}
		_, err = base.Collect(ctx, tx, func(r base.Rows) (_ int, err error) {
			var kind public.SubscriberKind
			var state public.SubscriberState
			var many int
			err = r.Scan(&kind, &state, &many)
			switch {
			case state == public.Pending:
				n.Pending += many
			case kind == public.Mail:
				n.Mail += many
			default:
				n.Webhook += many
			}
			return 0, err
		}, `select kind, state, count(*) from belfry.subscribers where page_id = $1 group by kind, state`, page.ID)
		return err
	})
	return n, err
}

// RemoveSubscriber ends a subscription, confirmed or not.
func (s *Store) RemoveSubscriber(ctx context.Context, namespace, name string, id int64) error {
	return s.Write(ctx, "remove subscriber", func(c *base.Change) error {
		page, err := monitors.StatusPages.Read(ctx, c.Tx, base.NamespaceOr(namespace), name, "")
		if err != nil {
			return err
		}
		row, found, err := s.Read(ctx, c.Tx, page.Namespace, id, c.SQL.ForUpdate("s"))
		if err != nil {
			return err
		}
		if !found || row.PageID != page.ID {
			return core.Errorf(core.NotFound, "status page %q has no subscriber %d", name, id).WithHint("see: belfry subscriber list %s", name)
		}
		if err := s.remove(c, row); err != nil {
			return err
		}
		return c.Audit("remove", "subscriber", page.Namespace, page.Name+"/"+strconv.FormatInt(id, 10), string(row.Kind), nil, nil)
	})
}

// Opens reports whether this node can open the secrets of a subscriber.
func Opens(s *base.Store, namespace, page, doc string) (bool, error) {
	var v contact
	if err := base.ScanDoc(&v).Scan(doc); err != nil {
		return false, err
	}
	_, all := base.OpenIn(s, base.PurposeOf("subscriber", namespace, page), v)
	return all, nil
}

// Reseal seals the secrets of subscribers with a key, if they have another key, and returns the number of these subscribers.
func Reseal(c *base.Change, key string) (n int, err error) {
	type row struct {
		id                   int64
		namespace, page, doc string
	}
	rows, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (v row, err error) {
		return v, r.Scan(&v.id, &v.namespace, &v.page, &v.doc)
	}, `select id, namespace, page, doc from belfry.subscribers where doc not like $1 order by id limit `+strconv.Itoa(base.ResealBatch)+c.SQL.ForUpdate("subscribers"), "%."+key+".%")
	for _, r := range rows {
		doc, err := base.ResealDoc[contact](c, key, base.PurposeOf("subscriber", r.namespace, r.page), r.doc)
		if err != nil {
			return n, err
		}
		if doc != r.doc {
			n++
			if _, err := c.Tx.Exec(c.Ctx, `update belfry.subscribers set doc = $2 where id = $1`, r.id, doc); err != nil {
				return n, err
			}
		}
	}
	return n, err
}
