package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("announcements are planned, shown and over, and a status page shows those that hold", caseAnnouncementsHold)
	add("announcements are changed and ended by what was read, and are in the audit", caseAnnouncementsAreChanged)
	add("announcements are bounded, made once, and go with their status page", caseAnnouncementsAreBounded)
	addNodes("many announcements at once on one status page: as many as fit", caseManyAnnounce)
}

// statusPage creates a status page that shows nothing.
func statusPage(b *bench, name string) {
	b.Helper()
	must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: name}))(b)
}

// announced returns the announcements that visitors see on the status page public.
func announced(b *bench) string {
	b.Helper()
	var titles []string
	for _, a := range must(b.st.Board(b.ctx, "default", "public"))(b).Announced {
		titles = append(titles, a.Title)
	}
	return strings.Join(titles, " ")
}

func caseAnnouncementsHold(b *bench) {
	statusPage(b, "public")
	statusPage(b, "other")
	start := b.clock.Now()
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for _, a := range []public.Announcement{
		{Title: "always"},
		{Title: "ten", Until: at(10), Level: public.Warning},
		{Title: "later", From: at(5), Until: at(15), Text: " <b>\r\nü "},
	} {
		a.Page = "public"
		must(b.st.CreateAnnouncement(as(b, "ann"), a))(b)
	}
	must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "other", Title: "elsewhere"}))(b)
	for _, then := range []struct {
		minutes int
		shown   string
	}{{0, "ten always"}, {4, "ten always"}, {5, "later ten always"}, {10, "later always"}, {15, "always"}} {
		b.clock.Move(at(then.minutes).Sub(b.clock.Now()))
		want(b, fmt.Sprint("after ", then.minutes), announced(b), then.shown)
	}
	var listed []string
	all := must(b.st.Announcements(b.ctx, view.AnnouncementFilter{StatusPage: "public", Paging: core.Paging{Limit: 2}}))(b)
	more := must(b.st.Announcements(b.ctx, view.AnnouncementFilter{StatusPage: "public", Paging: core.Paging{Limit: 2, Cursor: all.Next}}))(b)
	for _, a := range append(all.Items, more.Items...) {
		listed = append(listed, fmt.Sprintf("%s %s %s %s", a.Title, a.Level, a.State, a.By))
	}
	want(b, "listed", strings.Join(listed, ", "), "later info over ann, ten warning over ann, always info shown ann")
	want(b, "text", all.Items[0].Text, "<b>\nü")
	current := must(b.st.Announcements(b.ctx, view.AnnouncementFilter{StatusPage: "public", Current: true}))(b)
	want(b, "current", len(current.Items), 1)
}

func caseAnnouncementsAreChanged(b *bench) {
	statusPage(b, "public")
	statusPage(b, "other")
	a := must(b.st.CreateAnnouncement(as(b, "ann"), public.Announcement{Page: "public", Title: "a"}))(b)
	b.clock.Move(time.Minute)
	edit := a
	edit.Title, edit.Level = "b", public.Notice
	edited := must(b.st.UpdateAnnouncement(core.WithVersion(as(b, "bob"), a.Version()), edit))(b)
	want(b, "edited", edited.Generation, int64(2))
	want(b, "author", edited.By, "ann")
	want(b, "shown", announced(b), "b")
	wantCode(b, second(b.st.UpdateAnnouncement(core.WithVersion(b.ctx, a.Version()), public.Announcement{Page: "public", ID: a.ID, Title: "c"})), core.Conflict)
	want(b, "generation after an edit without a change", must(b.st.UpdateAnnouncement(b.ctx, edit))(b).Generation, int64(2))
	wantCode(b, second(b.st.UpdateAnnouncement(b.ctx, public.Announcement{Page: "public", ID: a.ID, Title: ""})), core.Invalid, "title")
	for range 2 {
		b.clock.Move(time.Minute)
		want(b, "ended", must(b.st.EndAnnouncement(as(b, "eve"), "default", "public", a.ID))(b).State, public.Over)
	}
	want(b, "shown then", announced(b), "")
	read := must(b.st.Announcement(b.ctx, "default", "public", a.ID))(b)
	want(b, "end of the announcement", read.Until, b.clock.Now().Add(-time.Minute))
	var told []string
	for _, row := range must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "announcement", Name: fmt.Sprintf("public/%d", a.ID)}))(b).Items {
		told = append(told, row.Actor+" "+row.Action)
	}
	slices.Reverse(told)
	want(b, "audit", strings.Join(told, ", "), "ann create, bob update, eve end")
	for _, page := range []string{"other", "none"} {
		wantCode(b, second(b.st.Announcement(b.ctx, "default", page, a.ID)), core.NotFound)
		wantCode(b, second(b.st.EndAnnouncement(b.ctx, "default", page, a.ID)), core.NotFound)
		wantCode(b, second(b.st.UpdateAnnouncement(b.ctx, public.Announcement{Page: page, ID: a.ID, Title: "x"})), core.NotFound)
	}
	wantCode(b, second(b.st.CreateAnnouncement(b.ctx, public.Announcement{Namespace: "team", Page: "public", Title: "x"})), core.NotFound)
}

func caseAnnouncementsAreBounded(b *bench) {
	statusPage(b, "public")
	first := must(b.st.CreateAnnouncement(as(b, "ann"), public.Announcement{Page: "public", Title: "first"}))(b)
	want(b, "repeated", must(b.st.CreateAnnouncement(as(b, "ann"), public.Announcement{Page: "public", Title: "first"}))(b).ID, first.ID)
	for n := range public.MaxAnnouncements - 1 {
		must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: fmt.Sprint(n)}))(b)
	}
	wantCode(b, second(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "one more"})), core.Conflict, "20 announcements")
	ended := must(b.st.EndAnnouncement(b.ctx, "default", "public", first.ID))(b)
	must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: "in its room"}))(b)
	ended.Until = time.Time{}
	wantCode(b, second(b.st.UpdateAnnouncement(b.ctx, ended)), core.Conflict, "20 announcements")
	for n := range public.KeptAnnouncements + 5 {
		last := must(b.st.Announcements(b.ctx, view.AnnouncementFilter{StatusPage: "public", Current: true, Paging: core.Paging{Limit: 1}}))(b).Items[0]
		must(b.st.EndAnnouncement(b.ctx, "default", "public", last.ID))(b)
		must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: fmt.Sprint("again ", n)}))(b)
	}
	rows := b.count(`select count(*) from belfry.announcements`)
	want(b, "kept", rows <= public.MaxAnnouncements+public.KeptAnnouncements+1, true)
	wantCode(b, second(b.st.Announcement(b.ctx, "default", "public", first.ID)), core.NotFound)
	ok(b, b.st.DeleteStatusPage(b.ctx, "default", "public"))
	want(b, "with the page", b.count(`select count(*) from belfry.announcements`), 0)
	statusPage(b, "public")
	want(b, "another of the name", announced(b), "")
}

func caseManyAnnounce(b *bench, nodes []*store.Store) {
	statusPage(b, "public")
	b.crowd(nodes, 12, func(ctx context.Context, st *store.Store, n int) error {
		_, err := st.CreateAnnouncement(ctx, public.Announcement{Page: "public", Title: fmt.Sprint(n)})
		if core.CodeOf(err) == core.Conflict {
			return nil
		}
		return err
	})
	want(b, "rows", b.count(`select count(*) from belfry.announcements`), int64(min(12*len(nodes), public.MaxAnnouncements)))
}
