package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// AnnouncementCalls are the calls about announcements on status pages, and their subscribers.
type AnnouncementCalls struct{ server *server }

// Announcements implements [httpapi.Announcements].
func (c AnnouncementCalls) Announcements(ctx context.Context, f view.AnnouncementFilter) (core.Page[public.Announcement], error) {
	if err := checked("page", f.StatusPage); err != nil {
		return core.Page[public.Announcement]{}, err
	}
	query := words("namespace", f.Namespace)
	if f.Current {
		query.Set("current", "true")
	}
	return get[core.Page[public.Announcement]](ctx, c.server, named(statusPageNoun, f.StatusPage, "announcements"), paged(f.Paging, query))
}

// Announcement implements [httpapi.Announcements].
func (c AnnouncementCalls) Announcement(ctx context.Context, namespace, page string, id int64) (public.Announcement, error) {
	if err := checked("page", page); err != nil {
		return public.Announcement{}, err
	}
	return get[public.Announcement](ctx, c.server, announcementPath(page, id), words("namespace", namespace))
}

// CreateAnnouncement implements [httpapi.Announcements].
func (c AnnouncementCalls) CreateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error) {
	if err := checked("page", a.Page); err != nil {
		return public.Announcement{}, err
	}
	return put[public.Announcement](ctx, c.server, http.MethodPost, named(statusPageNoun, a.Page, "announcements"), words("namespace", a.Namespace), a)
}

// UpdateAnnouncement implements [httpapi.Announcements].
func (c AnnouncementCalls) UpdateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error) {
	if err := checked("page", a.Page); err != nil {
		return public.Announcement{}, err
	}
	return put[public.Announcement](ctx, c.server, http.MethodPut, announcementPath(a.Page, a.ID), words("namespace", a.Namespace), a)
}

// EndAnnouncement implements [httpapi.Announcements].
func (c AnnouncementCalls) EndAnnouncement(ctx context.Context, namespace, page string, id int64) (public.Announcement, error) {
	if err := checked("page", page); err != nil {
		return public.Announcement{}, err
	}
	return put[public.Announcement](ctx, c.server, http.MethodPost, announcementPath(page, id)+"/end", words("namespace", namespace), nil)
}

func announcementPath(page string, id int64) string {
	return named(statusPageNoun, page, "announcements", strconv.FormatInt(id, 10))
}

// Subscribers implements [httpapi.Subscribers].
func (c AnnouncementCalls) Subscribers(ctx context.Context, f view.SubscriberFilter) (core.Page[public.Subscriber], error) {
	if err := checked("page", f.StatusPage); err != nil {
		return core.Page[public.Subscriber]{}, err
	}
	return get[core.Page[public.Subscriber]](ctx, c.server, named(statusPageNoun, f.StatusPage, "subscribers"), paged(f.Paging, words("namespace", f.Namespace)))
}

// CountSubscribers implements [httpapi.Subscribers].
func (c AnnouncementCalls) CountSubscribers(ctx context.Context, namespace, page string) (view.SubscriberCounts, error) {
	if err := checked("page", page); err != nil {
		return view.SubscriberCounts{}, err
	}
	return get[view.SubscriberCounts](ctx, c.server, named(statusPageNoun, page, "subscriber-counts"), words("namespace", namespace))
}

// RemoveSubscriber implements [httpapi.Subscribers].
func (c AnnouncementCalls) RemoveSubscriber(ctx context.Context, namespace, page string, id int64) error {
	if err := checked("page", page); err != nil {
		return err
	}
	return c.server.delete(ctx, named(statusPageNoun, page, "subscribers", strconv.FormatInt(id, 10)), words("namespace", namespace))
}
