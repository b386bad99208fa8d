package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

func TestAnAnnouncementIsMadeChangedAndEnded(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/status-pages/public/announcements")
	b.Shows("Nothing is announced on this page.")
	b.Axe()
	b.Follow("a.button.main")
	b.Type("#f-title", "Mail is <i>late</i>")
	b.Type("#f-text", "Nothing is lost.\nWe look into it.")
	var level string
	b.Eval(`document.querySelector('#f-level').value = 'warning'`, &level)
	picture(b, "announcement-new")
	b.Axe()
	s.sends(b, "main form button.main", "is shown.", "Mail is <i>late</i>", "until it is ended")
	picture(b, "announcements")
	b.Axe()
	all := must(s.Announcements(t.Context(), view.AnnouncementFilter{Namespace: "default", StatusPage: "public"}))(s).Items
	if len(all) != 1 || all[0].Level != public.Warning || all[0].Text != "Nothing is lost.\nWe look into it." || all[0].By == "" {
		t.Fatalf("%+v", all)
	}
	b.Follow("#list td a")
	put(b, "#f-until", "2199-12-31T12:00")
	s.sends(b, "main form button.main", "is shown.", "2199")
	if _, err := s.UpdateAnnouncement(t.Context(), public.Announcement{Namespace: "default", Page: "public", ID: all[0].ID, Title: "theirs"}); err != nil {
		t.Fatal(err)
	}
	v := s.visitor(s.admin)
	if status, body := v.post("/status-pages/public/announcements/1", "title", "mine", "version", all[0].Version(), "zone", "UTC"); status != http.StatusConflict || !strings.Contains(body, "theirs") {
		t.Errorf("an edit of an old version: %d", status)
	}
	if status, body := v.post("/status-pages/public/announcements/-new", "title", "", "text", "kept <b>", "level", "info", "zone", "UTC"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "kept &lt;b&gt;") {
		t.Errorf("without a title: %d", status)
	}
	reader, _ := s.token("viewer", "default", access.ScopeRead)
	if status, _ := s.visitor(reader).post("/status-pages/public/announcements/-new", "title", "x"); status != http.StatusForbidden {
		t.Errorf("a reader gets %d", status)
	}
	b.Visit(s.url + "/status-pages/public/announcements")
	opens(b, "end-1")
	s.sends(b, "#end-1 button.main", "Announcement 1 is over.")
	if all := must(s.Announcements(t.Context(), view.AnnouncementFilter{Namespace: "default", StatusPage: "public"}))(s).Items; all[0].State != public.Over {
		t.Errorf("%+v", all)
	}
}
