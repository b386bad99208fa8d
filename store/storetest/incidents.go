package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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
	add("an incident is acknowledged once, open or over, and no longer when that is undone", caseAnIncidentIsAcknowledgedOnce)
	add("an incident carries updates within limits, and outlives its monitor with them", caseAnIncidentCarriesUpdates)
	add("an incident of another namespace is not found", caseAnIncidentOfAnotherNamespaceIsNotFound)
	add("while an incident is acknowledged no reminder is sent, and its end is", caseWhileAnIncidentIsAcknowledgedNoReminder)
	add("a status page shows public updates of its monitors' incidents, and no others", caseAStatusPageShowsPublicUpdates)
	addNodes("two people who acknowledge an incident at once: one does, and updates at once are all kept", casePeopleAtOneIncident)
}

// outage makes a monitor go down and returns its incident.
func (w checker) outage(name string) monitor.Incident {
	w.Helper()
	w.monitor(name)
	w.turn(name, failed)
	w.turn(name, failed)
	return w.incidents(name)[0]
}

func as(b *bench, actor string) context.Context { return access.WithActor(b.ctx, actor) }

func caseAnIncidentIsAcknowledgedOnce(b *bench) {
	w := b.checker()
	id := w.outage("site").ID
	at := b.clock.Now()
	i := must(b.st.AcknowledgeIncident(as(b, "ann"), "default", id, "restarting it"))(b)
	ann := monitor.Acknowledgement{By: "ann", At: at, Note: "restarting it"}
	want(b, "acknowledged", *i.Acknowledged, ann)
	b.clock.Move(time.Minute)
	want(b, "second acknowledgement", *must(b.st.AcknowledgeIncident(as(b, "ann"), "default", id, "x"))(b).Acknowledged, ann)
	wantCode(b, second(b.st.AcknowledgeIncident(as(b, "bob"), "default", id, "")), core.Conflict, "acknowledged by ann")
	want(b, "listed", *w.incidents("site")[0].Acknowledged, ann)
	w.turn("site", passed)
	w.turn("site", passed)
	i = must(b.st.Incident(b.ctx, "default", id))(b)
	want(b, "acknowledgement after the end", *i.Acknowledged, ann)
	want(b, "snapshot", i.Snapshot.Body, "sorry")
	want(b, "reason of the end", i.EndedBy, "recovered")
	for range 2 {
		want(b, "undone", must(b.st.UnacknowledgeIncident(as(b, "bob"), "default", id))(b).Acknowledged, nil)
	}
	want(b, "acknowledgement of an ended incident", must(b.st.AcknowledgeIncident(as(b, "bob"), "default", id, ""))(b).Acknowledged.By, "bob")
	want(b, "start", must(b.st.Incident(b.ctx, "default", id))(b).StartedAt, i.StartedAt)
	var told []string
	for _, a := range must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "incident", Name: fmt.Sprint(id)}))(b).Items {
		told = append(told, a.Actor+" "+a.Action)
	}
	slices.Reverse(told)
	want(b, "audit", strings.Join(told, ", "), "ann acknowledge, bob unacknowledge, bob acknowledge")
}

func caseAnIncidentCarriesUpdates(b *bench) {
	w := b.checker()
	id := w.outage("site").ID
	long := strings.Repeat("ü", monitor.MaxUpdateText)
	first := must(b.st.UpdateIncident(as(b, "ann"), "default", id, monitor.Update{State: monitor.IncidentIdentified, Text: long, Public: true, Seq: 9, Actor: "eve"}))(b)
	want(b, "repeated", must(b.st.UpdateIncident(as(b, "ann"), "default", id, monitor.Update{State: monitor.IncidentIdentified, Text: long, Public: true}))(b), first)
	want(b, "first", first, monitor.Update{Seq: 1, At: b.clock.Now(), Actor: "ann", State: monitor.IncidentIdentified, Text: long, Public: true})
	for text, says := range map[string]string{"": "text", long + "x": "4000 characters"} {
		wantCode(b, second(b.st.UpdateIncident(b.ctx, "default", id, monitor.Update{Text: text})), core.Invalid, says)
	}
	wantCode(b, second(b.st.UpdateIncident(b.ctx, "default", id, monitor.Update{Text: "x", State: "fixed"})), core.Invalid, "state")
	b.clock.Move(time.Minute)
	w.turn("site", passed)
	w.turn("site", passed)
	for n := range monitor.MaxUpdates - 1 {
		must(b.st.UpdateIncident(as(b, "bob"), "default", id, monitor.Update{Text: fmt.Sprint("note ", n)}))(b)
	}
	wantCode(b, second(b.st.UpdateIncident(b.ctx, "default", id, monitor.Update{Text: "one more"})), core.Conflict, "200 updates")
	ok(b, b.st.DeleteMonitor(b.ctx, "default", "site"))
	i := must(b.st.Incident(b.ctx, "default", id))(b)
	want(b, "updates", len(i.Updates), monitor.MaxUpdates)
	want(b, "first update", i.Updates[0], first)
	want(b, "second update", i.Updates[1].Actor+i.Updates[1].Text, "bobnote 0")
	want(b, "in the list", len(w.incidents("site")[0].Updates), 0)
	must(b.st.AcknowledgeIncident(b.ctx, "default", id, "of a monitor that is gone"))(b)
	want(b, "acknowledged with", len(must(b.st.Incident(b.ctx, "default", id))(b).Updates), monitor.MaxUpdates)
}

func caseAnIncidentOfAnotherNamespaceIsNotFound(b *bench) {
	w := b.checker()
	id := w.outage("site").ID
	for _, who := range []struct {
		namespace string
		id        int64
	}{{"other", id}, {"default", id + 1}, {core.AnyNamespace, id + 1}} {
		wantCode(b, second(b.st.AcknowledgeIncident(b.ctx, who.namespace, who.id, "")), core.NotFound)
		wantCode(b, second(b.st.UnacknowledgeIncident(b.ctx, who.namespace, who.id)), core.NotFound)
		wantCode(b, second(b.st.UpdateIncident(b.ctx, who.namespace, who.id, monitor.Update{Text: "x"})), core.NotFound)
	}
	i := must(b.st.Incident(b.ctx, core.AnyNamespace, id))(b)
	want(b, "left alone", i.Acknowledged == nil && len(i.Updates) == 0, true)
}

func caseWhileAnIncidentIsAcknowledgedNoReminder(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group, r.Remind, r.RemindMax = -1, core.Duration(10*time.Minute), 100 })
	id := w.outage("site").ID
	want(b, "down", len(alerts{b}.deliver(view.DeliveryResult{})), 1)
	sent := func(what string, span time.Duration, wanted bool) {
		b.Helper()
		n := 0
		for range span / (5 * time.Minute) {
			n += len(alerts{b}.later(5 * time.Minute))
		}
		want(b, what, n > 0, wanted)
	}
	sent("reminders before", time.Hour, true)
	must(b.st.AcknowledgeIncident(as(b, "ann"), "default", id, ""))(b)
	sent("reminders while it is acknowledged", 6*time.Hour, false)
	want(b, "why", must(b.st.Alerts(b.ctx, alert.Filter{Incident: id, State: alert.Suppressed}))(b).Items[0].Reason, "acknowledged by ann")
	must(b.st.UnacknowledgeIncident(b.ctx, "default", id))(b)
	sent("reminders afterwards", 12*time.Hour, true)
	must(b.st.AcknowledgeIncident(as(b, "ann"), "default", id, ""))(b)
	w.turn("site", passed)
	w.turn("site", passed)
	titles := alerts{b}.deliver(view.DeliveryResult{})
	want(b, "notifications of the end", len(titles), 1)
	want(b, "notification of the end says up", strings.Contains(titles[0], "up"), true)
}

func casePeopleAtOneIncident(b *bench, nodes []*store.Store) {
	const each = 4
	w := b.checker()
	id := w.outage("site").ID
	var won, refused atomic.Int64
	b.crowd(nodes, each, func(ctx context.Context, st *store.Store, n int) error {
		ctx = access.WithActor(ctx, fmt.Sprint("person", n))
		_, err := st.AcknowledgeIncident(ctx, "default", id, "")
		switch core.CodeOf(err) {
		case "":
			won.Add(1)
		case core.Conflict:
			refused.Add(1)
		default:
			return err
		}
		_, err = st.UpdateIncident(ctx, "default", id, monitor.Update{Text: fmt.Sprint(n)})
		return err
	})
	want(b, "acknowledgements", won.Load(), 1)
	want(b, "refused", refused.Load(), int64(each*len(nodes)-1))
	i := must(b.st.Incident(b.ctx, "default", id))(b)
	seen := map[string]bool{}
	for n, u := range i.Updates {
		want(b, "number", u.Seq, n+1)
		seen[u.Text] = true
	}
	want(b, "updates", len(seen), each*len(nodes))
}

func caseAStatusPageShowsPublicUpdates(b *bench) {
	w := b.checker()
	id, other := w.outage("site").ID, w.outage("inside").ID
	must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "public", Sections: []public.StatusSection{{Monitors: []string{"site"}}}}))(b)
	for n, u := range []monitor.Update{{Text: "a"}, {Text: "b", State: monitor.IncidentIdentified, Public: true}, {Text: "c", Public: true}} {
		b.clock.Move(time.Second)
		must(b.st.UpdateIncident(as(b, "ann"), "default", id, u))(b)
		must(b.st.UpdateIncident(as(b, "ann"), "default", other, monitor.Update{Text: fmt.Sprint("inside ", n), Public: true}))(b)
	}
	shown := func() (text string) {
		for _, e := range must(b.st.Board(b.ctx, "default", "public"))(b).Incidents {
			for _, u := range e.Updates {
				text += fmt.Sprintf("%s %s%s %s;", e.Monitor, u.State, u.Text, b.clock.Now().Sub(u.At))
			}
		}
		return text
	}
	want(b, "updates shown during the incident", shown(), "site c 0s;site identifiedb 1s;")
	for n := range monitor.MaxUpdates - 3 {
		must(b.st.UpdateIncident(b.ctx, "default", id, monitor.Update{Text: fmt.Sprint("more ", n), Public: true}))(b)
	}
	want(b, "most updates shown", strings.Count(shown(), ";"), view.BoardUpdates)
	b.clock.Move(15 * 24 * time.Hour)
	want(b, "after long", strings.Count(shown(), ";"), view.BoardUpdates)
}
