package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("an incident is assigned to one person after the other, open or over, and found by that", caseAnIncidentIsAssigned)
	addNodes("two people who assign an incident at once: each assignment is kept, and the last holds", caseTwoAssignAnIncident)
}

func caseAnIncidentIsAssigned(b *bench) {
	w := b.checker()
	id, other := w.outage("site").ID, w.outage("other").ID
	found := func(who string) string {
		p := must(b.st.Incidents(b.ctx, view.IncidentFilter{Namespace: "default", Assigned: who}))(b)
		var names []string
		for _, i := range p.Items {
			want(b, "assigned", i.Assignee(), who)
			want(b, "history in a list", len(i.Assignments), 0)
			names = append(names, i.Monitor)
		}
		return strings.Join(names, " ")
	}
	i := must(b.st.AssignIncident(as(b, "ann"), "default", id, " Bob Ö "))(b)
	want(b, "assigned", *i.Assigned, monitor.Assignment{To: "Bob Ö", By: "ann", At: b.clock.Now()})
	must(b.st.AssignIncident(as(b, "eve"), "default", id, "Bob Ö"))(b) // changes nothing
	must(b.st.AssignIncident(as(b, "eve"), "default", other, "Bob Ö"))(b)
	want(b, "incidents of Bob", found("Bob Ö"), "other site")
	must(b.st.AssignIncident(as(b, "ann"), "default", id, ""))(b)
	want(b, "incidents of ann", found("ann"), "site")
	want(b, "incidents of Bob after the change", found("Bob Ö"), "other")
	w.turn("site", passed)
	w.turn("site", passed)
	for range 2 {
		want(b, "taken back", must(b.st.UnassignIncident(as(b, "bob"), "default", id))(b).Assigned, nil)
	}
	want(b, "incidents of ann after the change", found("ann"), "")
	i = must(b.st.Incident(b.ctx, "default", id))(b)
	var told []string
	for _, a := range i.Assignments {
		told = append(told, a.By+" to "+a.To)
	}
	want(b, "history", strings.Join(told, ", "), "ann to Bob Ö, ann to ann, bob to ")
	want(b, "ended", i.EndedBy, "recovered")
	told = nil
	for _, a := range must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "incident", Name: fmt.Sprint(id)}))(b).Items {
		told = append(told, a.Actor+" "+a.Action)
	}
	slices.Reverse(told)
	want(b, "audit", strings.Join(told, ", "), "ann assign, ann assign, bob unassign")
	wantCode(b, second(b.st.AssignIncident(b.ctx, "default", id, strings.Repeat("x", monitor.MaxAssignee+1))), core.Invalid, "100 characters")
	wantCode(b, second(b.st.AssignIncident(b.ctx, "other", id, "x")), core.NotFound)
	wantCode(b, second(b.st.UnassignIncident(b.ctx, "other", id)), core.NotFound)
}

func caseTwoAssignAnIncident(b *bench, nodes []*store.Store) {
	const each = 4
	id := b.checker().outage("site").ID
	b.crowd(nodes, each, func(ctx context.Context, st *store.Store, n int) error {
		_, err := st.AssignIncident(ctx, "default", id, fmt.Sprint("person", n))
		return err
	})
	i := must(b.st.Incident(b.ctx, "default", id))(b)
	want(b, "assignments", len(i.Assignments), each*len(nodes))
	want(b, "assignee by the last assignment", i.Assignee(), i.Assignments[len(i.Assignments)-1].To)
}
