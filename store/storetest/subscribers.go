package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a visitor who confirms is told of incidents, updates and announcements, once each, and of nothing else", caseASubscriberIsTold)
	add("a status page calls a monitor by its own title for it, and so do messages to subscribers", caseAPageHasItsOwnTitles)
	add("a status page keeps its logo and colours, and the audit says of the logo what it is", caseAStatusPageHasALook)
	add("an unconfirmed subscriber gets no message, and is deleted within a day", caseAnUnconfirmedSubscriberIsDeleted)
	add("an address is asked seldom, and the answer does not tell whether it is subscribed", caseAnAddressIsAskedSeldom)
	add("a webhook is confirmed by the answer to its challenge, which is sent three times at most", caseAWebhookIsConfirmed)
	add("messages to a subscriber go in their order: one that is tried again holds up the later ones, which then go together", caseMessagesToASubscriberKeepTheirOrder)
	add("an outage that is over within a minute is not told to subscribers", caseAShortOutageIsNotTold)
	add("an incident that a pause, an edit or a deletion closes is told to subscribers who know of it", caseAClosedIncidentIsTold)
	add("a public update within a minute of the begin of an incident is told with the begin", caseAnEarlyUpdateIsTold)
	add("a removed subscriber gets no more messages, and the address is deleted", caseARemovedSubscriberIsDeleted)
	add("subscriptions are off unless a page names its ways, and go with the page", caseSubscriptionsAreOff)
	addNodes("many ask at once to subscribe: each is asked once, and the bounds of the page hold", caseManySubscribe)
	addNodes("what a status page tells is told once to each subscriber, whichever node is first", caseNodesTellOnce)
}

// readers is a bench with visitors of the status page public.
type readers struct {
	*bench
	st *store.Store
}

const publicURL = "https://status.example"

// open creates the page, which shows the monitor site and accepts subscriptions.
func (b readers) open() {
	b.Helper()
	must(b.st.SaveChannel(b.ctx, alert.Channel{Name: "mail", Email: &alert.EmailChannel{Host: "mail.example", From: "status@example.com", To: []string{"ops@example.com"}}}))(b)
	must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "public", Title: "Acme", Sections: []public.StatusSection{{Monitors: []string{"site"}}},
		Subscribe: &public.Subscribing{Mail: "mail", Webhooks: true}}))(b)
}

// taken settles the due messages in the given way, and returns them.
func (b readers) taken(r view.DeliveryResult) (all []view.TakenAlert) {
	b.Helper()
	for {
		t := must(b.st.TakeAlerts(b.ctx, publicURL, 256))(b)
		again := len(t.Messages) > 0 || !t.NextAt.IsZero() && !t.NextAt.After(t.Now) // a page has created messages for its subscribers
		for _, m := range t.Messages {
			ok(b, b.st.SettleAlerts(b.ctx, m, r))
			all = append(all, m)
		}
		if !again {
			return all
		}
	}
}

func titles(all []view.TakenAlert) string {
	var said []string
	for _, t := range all {
		to := string(t.Channel.Name)
		if t.Channel.Email != nil {
			to = strings.Join(t.Channel.Email.To, ",")
		}
		said = append(said, to+" "+t.Message.Title)
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}

// subscribe subscribes an address, and returns the key of the message.
func (b readers) subscribe(address string) (key string) {
	b.Helper()
	ok(b, b.st.Subscribe(b.ctx, "default", "public", public.Mail, address))
	sent := b.taken(view.DeliveryResult{})
	want(b, "asked", titles(sent), address+" Confirm your subscription to Acme")
	m := sent[0].Message
	key = strings.TrimPrefix(m.URL, publicURL+public.SubscriptionPath)
	want(b, "unsubscribe", m.Unsubscribe, publicURL+public.SubscriptionPath+key)
	return key
}

// confirmed creates a confirmed subscriber, and returns its key.
func (b readers) confirmed(address string) (key string) {
	b.Helper()
	key = b.subscribe(address)
	want(b, "confirmed", must(b.st.ConfirmSubscription(b.ctx, key))(b).State, public.Confirmed)
	return key
}

func readersOf(b *bench) readers { return readers{b, b.st} }

func caseAPageHasItsOwnTitles(b *bench) {
	w, r := b.checker(), readersOf(b)
	r.open()
	r.confirmed("ann@example.com")
	page := must(b.st.StatusPage(b.ctx, "default", "public"))(b)
	page.Sections[0].Titles = map[string]string{"site": "Our shop"}
	page.Sections = append(page.Sections, public.StatusSection{Monitors: []string{"site"}})
	must(b.st.SaveStatusPage(b.ctx, page))(b)
	w.outage("site")
	board := must(b.st.Board(b.ctx, "default", "public"))(b)
	want(b, "first section", board.Sections[0].Monitors[0].Title, "Our shop")
	want(b, "second section", board.Sections[1].Monitors[0].Title, "")
	want(b, "incident", board.Incidents[0].Title, "Our shop")
	b.clock.Move(time.Minute)
	want(b, "down", titles(r.taken(view.DeliveryResult{})), "ann@example.com Acme: Our shop is down")
}

func caseAStatusPageHasALook(b *bench) {
	const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGPoAgAAjACLWFj9WwAAAABJRU5ErkJggg=="
	saved := must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "public", Logo: dot, Accent: "#8A1C6B"}))(b)
	want(b, "saved", saved.Logo, dot)
	listed := must(b.st.StatusPages(b.ctx, view.DocumentFilter{}))(b).Items[0]
	want(b, "listed without it", listed.Logo, public.LogoKept)
	listed.Title = "How we are"
	again := must(b.st.SaveStatusPage(b.ctx, listed))(b)
	want(b, "saved as it was listed", again.Logo+again.Title, dot+"How we are")
	must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "without"}))(b)
	want(b, "listed with none", must(b.st.StatusPages(b.ctx, view.DocumentFilter{}))(b).Items[1].Logo, "")
	if _, err := b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "other", Logo: public.LogoKept}); core.CodeOf(err) != core.Invalid {
		b.Errorf("page that keeps a missing logo: got %v, want an invalid field", err)
	}
	saved = must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "public", Logo: dot, Accent: "#8A1C6B"}))(b)
	listed = must(b.st.StatusPages(b.ctx, view.DocumentFilter{}))(b).Items[0]
	saved.Logo, listed.Logo = "", ""
	want(b, "listed page without its logo", fmt.Sprintf("%+v", listed), fmt.Sprintf("%+v", saved))
	want(b, "exported", must(b.st.Export(b.ctx, "default"))(b).StatusPages[0].Logo, dot)
	want(b, "kept", must(b.st.StatusPage(b.ctx, "default", "public"))(b).Logo, dot)
	board := must(b.st.Board(b.ctx, "default", "public"))(b)
	want(b, "shown", board.Logo.String(), "PNG, 1 × 1 pixels, 67 B")
	want(b, "accent", board.Accent, "#8a1c6b")
	want(b, "accent in the dark", board.AccentDark, public.Dark.Nearest("#8a1c6b"))
	for _, e := range must(b.st.Audit(b.ctx, access.AuditFilter{}))(b).Items {
		if text := fmt.Sprint(string(e.Before), string(e.After)); strings.Contains(text, dot) || e.Name == "public" && !strings.Contains(text, "PNG, 1 × 1 pixels") {
			b.Errorf("audit entry: got %s, want a description in place of the logo", text)
		}
	}
	b.sql(`update belfry.documents set doc = replace(doc, $1, 'iVBORw0KGgo=') where noun = 'status_page'`, dot) // as from a version that accepted others
	board = must(b.st.Board(b.ctx, "default", "public"))(b)
	want(b, "shown without a logo", fmt.Sprint(board.Title, len(board.Logo.Bytes), board.Accent), "public0#8a1c6b")
	if _, err := b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "public", Logo: dot[:40], Accent: "#ff0"}); core.CodeOf(err) != core.Invalid {
		b.Errorf("incomplete logo: got %v, want an invalid field", err)
	}
}

func caseASubscriberIsTold(b *bench) {
	w, r := b.checker(), readersOf(b)
	r.open()
	key := r.confirmed("ann@example.com")
	want(b, "confirmed again", must(b.st.ConfirmSubscription(b.ctx, key))(b).State, public.Confirmed)
	began := w.outage("site")
	id := began.ID
	w.outage("inside")
	want(b, "at once", titles(r.taken(view.DeliveryResult{})), "")
	b.clock.Move(time.Minute)
	sent := r.taken(view.DeliveryResult{})
	want(b, "down", titles(sent), "ann@example.com Acme: site is down")
	want(b, "since when", sent[0].Message.Notifications[0].At, began.StartedAt)
	want(b, "address in the message", sent[0].Message.URL, publicURL+"/status/public")
	want(b, "how to leave", sent[0].Message.Unsubscribe, publicURL+public.SubscriptionPath+key)
	want(b, "channel", sent[0].Channel.Email.Host, "mail.example")
	for _, n := range sent[0].Message.Notifications {
		want(b, "internal fields of the notification", n.Monitor+n.Target+string(n.Code)+n.Namespace, "")
	}
	must(b.st.UpdateIncident(b.ctx, "default", id, monitor.Update{Text: "a note"}))(b)
	must(b.st.UpdateIncident(b.ctx, "default", id, monitor.Update{Text: "a disk is full", State: monitor.IncidentIdentified, Public: true}))(b)
	sent = r.taken(view.DeliveryResult{})
	want(b, "update", titles(sent), "ann@example.com Acme: site: identified")
	want(b, "message has the text of the update", strings.Contains(sent[0].Message.Text, "a disk is full"), true)
	w.turn("site", passed)
	w.turn("site", passed)
	want(b, "message of the recovery", titles(r.taken(view.DeliveryResult{})), "ann@example.com Acme: site is up again")
	// A planned announcement is sent when it begins to be shown, in its form at that time.
	a := must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "planned", From: b.clock.Now().Add(time.Hour)}))(b)
	gone := must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "never", From: b.clock.Now().Add(time.Hour)}))(b)
	want(b, "messages before the announcement", titles(r.taken(view.DeliveryResult{})), "")
	a.Title, a.From = "changed", b.clock.Now().Add(2*time.Hour)
	must(b.st.UpdateAnnouncement(b.ctx, a))(b)
	must(b.st.EndAnnouncement(b.ctx, "default", "public", gone.ID))(b)
	b.clock.Move(time.Hour)
	want(b, "messages before the planned time", titles(r.taken(view.DeliveryResult{})), "")
	b.clock.Move(time.Hour)
	want(b, "messages of the changed announcement", titles(r.taken(view.DeliveryResult{})), "ann@example.com Acme: changed")
	// Several updates at a time become one message, which is tried until it is accepted.
	for n := range 3 {
		must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: fmt.Sprint("news ", n)}))(b)
	}
	want(b, "together", titles(r.taken(view.DeliveryResult{Error: "away"})), "ann@example.com Acme: 3 updates")
	b.clock.Move(time.Hour)
	want(b, "messages of several announcements", titles(r.taken(view.DeliveryResult{})), "ann@example.com Acme: 3 updates")
	b.clock.Move(24 * time.Hour)
	want(b, "in the end", titles(r.taken(view.DeliveryResult{})), "")
	for _, row := range must(b.st.Audit(b.ctx, access.AuditFilter{Namespace: core.AnyNamespace, Paging: core.Paging{Limit: 1000}}))(b).Items {
		want(b, "address in the audit", strings.Contains(row.Name+row.Note+string(row.After), "ann@"), false)
	}
	for _, a := range must(b.st.Alerts(b.ctx, alert.Filter{Paging: core.Paging{Limit: 1000}}))(b).Items {
		want(b, "address in a notification", strings.Contains(fmt.Sprintf("%+v", a), "ann@") || strings.Contains(fmt.Sprintf("%+v", a), key), false)
	}
	want(b, "counts", must(b.st.CountSubscribers(b.ctx, "default", "public"))(b), view.SubscriberCounts{Mail: 1})
}

func caseAClosedIncidentIsTold(b *bench) {
	w, r := b.checker(), readersOf(b)
	r.open()
	r.confirmed("ann@example.com")
	w.outage("site")
	b.clock.Move(time.Minute)
	want(b, "down", titles(r.taken(view.DeliveryResult{})), "ann@example.com Acme: site is down")
	m := must(b.st.Monitor(b.ctx, "default", "site"))(b).Monitor
	m.Check.HTTP.URL += "elsewhere"
	must(b.st.UpdateMonitor(b.ctx, m))(b)
	sent := r.taken(view.DeliveryResult{})
	want(b, "edited", titles(sent), "ann@example.com Acme: site: the incident is closed")
	want(b, "why", strings.Contains(sent[0].Message.Text, "Its monitor was edited."), true)
	again := func() { // the monitor is down again
		b.clock.Move(time.Minute)
		w.turn("site", failed)
		w.turn("site", failed)
	}
	again()
	must(b.st.PauseMonitor(b.ctx, "default", "site", time.Time{}, ""))(b)
	b.clock.Move(time.Minute)
	want(b, "closed before they knew", titles(r.taken(view.DeliveryResult{})), "")
	must(b.st.ResumeMonitor(b.ctx, "default", "site"))(b)
	again()
	b.clock.Move(time.Minute)
	want(b, "down again", titles(r.taken(view.DeliveryResult{})), "ann@example.com Acme: site is down")
	ok(b, b.st.DeleteMonitor(b.ctx, "default", "site"))
	want(b, "deleted", titles(r.taken(view.DeliveryResult{})), "ann@example.com Acme: site: the incident is closed")
}

func caseAnUnconfirmedSubscriberIsDeleted(b *bench) {
	w, r := b.checker(), readersOf(b)
	r.open()
	key := r.subscribe("ann@example.com")
	want(b, "pending", must(b.st.Subscription(b.ctx, key))(b), public.Subscription{Namespace: "default", Page: "public", Title: "Acme", Kind: public.Mail, State: public.Pending})
	w.outage("site")
	b.clock.Move(2 * time.Minute)
	want(b, "messages", titles(r.taken(view.DeliveryResult{})), "")
	b.clock.Move(public.UnconfirmedFor)
	for more := true; more; {
		more = must(b.st.Prune(b.ctx))(b)
	}
	want(b, "rows", b.count(`select count(*) from belfry.subscribers`)+b.count(`select count(*) from belfry.subscription_asks`), 0)
	wantCode(b, second(b.st.ConfirmSubscription(b.ctx, key)), core.NotFound)
}

func caseAnAddressIsAskedSeldom(b *bench) {
	r := readersOf(b)
	r.open()
	r.subscribe("ann@example.com")
	asked := 1
	for range 30 {
		b.clock.Move(30 * time.Minute)
		ok(b, b.st.Subscribe(b.ctx, "default", "public", public.Mail, "Ann@Example.com"))
		asked += len(r.taken(view.DeliveryResult{}))
	}
	want(b, "in a day", asked, public.MaxAsksAddress)
	r.confirmed("bob@example.com")
	b.clock.Move(time.Hour)
	ok(b, b.st.Subscribe(b.ctx, "default", "public", public.Mail, "bob@example.com")) // the same answer
	want(b, "messages to an existing subscriber", len(r.taken(view.DeliveryResult{})), 0)
	for n := range public.MaxAsksPage + 20 {
		ok(b, b.st.Subscribe(b.ctx, "default", "public", public.Mail, fmt.Sprintf("visitor%d@example.com", n)))
	}
	want(b, "requests of a page in an hour are bounded", len(r.taken(view.DeliveryResult{})) <= public.MaxAsksPage, true)
	for _, wrong := range []string{"", "ann", "ann@example.com\nBcc: all@example.com"} {
		wantCode(b, b.st.Subscribe(b.ctx, "default", "public", public.Mail, wrong), core.Invalid)
	}
}

func caseAWebhookIsConfirmed(b *bench) {
	r := readersOf(b)
	r.open()
	ok(b, b.st.Subscribe(b.ctx, "default", "public", public.Webhook, "https://hooks.example/a"))
	tries := 0
	for range 10 {
		for _, t := range r.taken(view.DeliveryResult{Error: "it did not answer"}) {
			want(b, "challenge", t.Message.Challenge != "" && t.Channel.Webhook.URL == "https://hooks.example/a", true)
			tries++
		}
		b.clock.Move(time.Hour)
	}
	want(b, "tries", tries, public.MaxConfirmTries)
	want(b, "not confirmed", must(b.st.CountSubscribers(b.ctx, "default", "public"))(b), view.SubscriberCounts{Pending: 1})
	ok(b, b.st.Subscribe(b.ctx, "default", "public", public.Webhook, "https://hooks.example/b"))
	want(b, "asked", len(r.taken(view.DeliveryResult{})), 1)
	want(b, "confirmed", must(b.st.CountSubscribers(b.ctx, "default", "public"))(b), view.SubscriberCounts{Webhook: 1, Pending: 1})
	must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "news"}))(b)
	sent := r.taken(view.DeliveryResult{})
	want(b, "messages", len(sent), 1)
	want(b, "challenge of a message to a subscriber", sent[0].Message.Challenge, "")
}

func caseMessagesToASubscriberKeepTheirOrder(b *bench) {
	w, r := b.checker(), readersOf(b)
	r.open()
	r.confirmed("ann@example.com")
	r.confirmed("bob@example.com")
	said := func(name string, fault view.DeliveryResult, titles ...string) (sent []view.TakenAlert) {
		b.Helper()
		for _, t := range r.taken(fault) {
			if t.Channel.Email.To[0] == "ann@example.com" {
				sent = append(sent, t)
			}
		}
		var got []string
		for _, t := range sent {
			got = append(got, t.Message.Title)
		}
		want(b, name, strings.Join(got, "; "), strings.Join(titles, "; "))
		return sent
	}
	away := view.DeliveryResult{Error: "away", RetryAfter: core.Duration(time.Hour)}
	w.outage("site")
	b.clock.Move(time.Minute)
	key := said("first try", away, "Acme: site is down")[0].Message.Key
	w.turn("site", passed)
	w.turn("site", passed)
	must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "news"}))(b)
	said("while the first waits", view.DeliveryResult{})
	b.clock.Move(time.Hour)
	said("second try", away, "Acme: site is down")
	b.clock.Move(time.Hour - time.Second)
	said("while the first waits again", view.DeliveryResult{})
	b.clock.Move(time.Second)
	sent := said("when they arrive", view.DeliveryResult{}, "Acme: site is down", "Acme: 2 updates")
	want(b, "key of the third try", sent[0].Message.Key, key)
	text := sent[1].Message.Text
	want(b, "the later ones in their order", strings.Contains(text, "site is up again") && strings.Index(text, "site is up again") < strings.Index(text, "news"), true)
	b.clock.Move(time.Hour)
	said("in the end", view.DeliveryResult{})

	must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "one"}))(b)
	said("another first try", away, "Acme: one")
	must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "two"}))(b)
	b.clock.Move(time.Hour)
	said("what is given up holds up nothing", view.DeliveryResult{Error: "gone", Permanent: true}, "Acme: one", "Acme: two")
}

func caseAnEarlyUpdateIsTold(b *bench) {
	w, r := b.checker(), readersOf(b)
	r.open()
	r.confirmed("ann@example.com")
	id := w.outage("site").ID
	must(b.st.UpdateIncident(b.ctx, "default", id, monitor.Update{Text: "a disk is full", Public: true}))(b)
	sent := r.taken(view.DeliveryResult{})
	want(b, "messages", titles(sent), "ann@example.com Acme: 2 updates")
	text := sent[0].Message.Text
	want(b, "in their order", strings.Contains(text, "site is down") && strings.Index(text, "site is down") < strings.Index(text, "a disk is full"), true)
	b.clock.Move(time.Hour)
	want(b, "messages of a second take", len(r.taken(view.DeliveryResult{})), 0)
}

func caseAShortOutageIsNotTold(b *bench) {
	w, r := b.checker(), readersOf(b)
	r.open()
	r.confirmed("ann@example.com")
	w.outage("site")
	w.turn("site", passed)
	w.turn("site", passed)
	b.clock.Move(time.Hour)
	for _, t := range r.taken(view.DeliveryResult{}) {
		b.Errorf("message to a subscriber: got %s, want none", t.Message.Title)
	}
}

func caseARemovedSubscriberIsDeleted(b *bench) {
	r := readersOf(b)
	r.open()
	ann := r.confirmed("ann@example.com")
	r.confirmed("bob@example.com")
	must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "news"}))(b)
	must(b.st.TakeAlerts(b.ctx, publicURL, 256))(b) // the page creates messages for its subscribers
	want(b, "left", must(b.st.Unsubscribe(b.ctx, ann))(b).State, public.Left)
	wantCode(b, second(b.st.Unsubscribe(b.ctx, ann)), core.NotFound)
	b.clock.Move(view.AlertTaken)
	want(b, "messages of the other subscriber", titles(r.taken(view.DeliveryResult{})), "bob@example.com Acme: news")
	all := must(b.st.Subscribers(b.ctx, view.SubscriberFilter{StatusPage: "public"}))(b).Items
	want(b, "listed", len(all), 1)
	want(b, "address", all[0].Address, "bob@example.com")
	wantCode(b, b.st.RemoveSubscriber(b.ctx, "default", "public", all[0].ID+100), core.NotFound)
	wantCode(b, b.st.RemoveSubscriber(b.ctx, "default", "none", all[0].ID), core.NotFound)
	ok(b, b.st.RemoveSubscriber(as(b, "eve"), "default", "public", all[0].ID))
	want(b, "rows", b.count(`select count(*) from belfry.subscribers`), 0)
	row := must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "subscriber"}))(b).Items[0]
	want(b, "audit", row.Actor+" "+row.Action+" "+row.Note, "eve remove mail")
	b.clock.Move(public.AskAgainAfter)
	r.confirmed("bob@example.com") // bob may subscribe again
}

func caseSubscriptionsAreOff(b *bench) {
	r := readersOf(b)
	statusPage(b, "closed")
	wantCode(b, b.st.Subscribe(b.ctx, "default", "closed", public.Mail, "ann@example.com"), core.NotFound)
	wantCode(b, b.st.Subscribe(b.ctx, "default", "none", public.Mail, "ann@example.com"), core.NotFound)
	wantCode(b, second(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "x", Subscribe: &public.Subscribing{Mail: "none"}})), core.Invalid, "subscribe.mail")
	alerts{b}.channel("hook")
	wantCode(b, second(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "x", Subscribe: &public.Subscribing{Mail: "hook"}})), core.Invalid, "kind email")
	r.open()
	page := must(b.st.StatusPage(b.ctx, "default", "public"))(b)
	page.Subscribe = &public.Subscribing{Mail: "mail"}
	page = must(b.st.SaveStatusPage(b.ctx, page))(b)
	wantCode(b, b.st.Subscribe(b.ctx, "default", "public", public.Webhook, "https://hooks.example/a"), core.Invalid)
	key := r.confirmed("ann@example.com")
	must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "one"}))(b)
	page.Subscribe = nil
	must(b.st.SaveStatusPage(b.ctx, page))(b)
	want(b, "messages while subscriptions are off", titles(r.taken(view.DeliveryResult{})), "")
	want(b, "still there", must(b.st.Subscription(b.ctx, key))(b).State, public.Confirmed)
	ok(b, b.st.DeleteStatusPage(b.ctx, "default", "public"))
	want(b, "with the page", b.count(`select count(*) from belfry.subscribers`), 0)
	wantCode(b, second(b.st.Subscription(b.ctx, key)), core.NotFound)
}

func caseManySubscribe(b *bench, nodes []*store.Store) {
	readersOf(b).open()
	b.crowd(nodes, 40, func(ctx context.Context, st *store.Store, n int) error {
		return st.Subscribe(ctx, "default", "public", public.Mail, fmt.Sprintf("visitor%d@example.com", n%50))
	})
	want(b, "asked twice", b.count(`select count(*) from belfry.subscription_asks`), b.count(`select count(*) from belfry.subscribers`))
	want(b, "bounded", b.count(`select count(*) from belfry.subscribers`), min(50, public.MaxAsksPage))
}

func caseNodesTellOnce(b *bench, nodes []*store.Store) {
	r := readersOf(b)
	r.open()
	const many = 10
	for n := range many {
		r.confirmed(fmt.Sprintf("visitor%d@example.com", n))
	}
	for round := range int64(4) { // nodes on a loaded machine may take turns by chance
		must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: fmt.Sprint("news ", round)}))(b)
		b.crowd(nodes, 4, func(ctx context.Context, st *store.Store, _ int) error {
			_, err := st.TakeAlerts(ctx, publicURL, 256)
			return err
		})
		want(b, "messages to subscribers", b.count(`select count(*) from belfry.alerts where type = 'status'`), many*(round+1))
	}
}
