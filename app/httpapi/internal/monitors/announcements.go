package monitors

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// Announcements stores announcements on status pages.
type Announcements interface {
	Announcements(ctx context.Context, f view.AnnouncementFilter) (core.Page[public.Announcement], error)
	Announcement(ctx context.Context, namespace, page string, id int64) (public.Announcement, error)
	CreateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error)
	UpdateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error)
	// EndAnnouncement ends an announcement now. An ended one stays unchanged.
	EndAnnouncement(ctx context.Context, namespace, page string, id int64) (public.Announcement, error)
}

// announcing names an announcement of a status page.
type announcing struct {
	Name      string `path:"name"`
	ID        int64  `path:"id"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
}

func (in *announcing) resolve(c *api.Call) (string, error) {
	if in.ID < 1 {
		return "", core.InvalidField("id", "", "is not the id of an announcement", "")
	}
	return (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
}

func (s *server) announcementRoutes() {
	const list, one = "/v1/status-pages/{name}/announcements", "/v1/status-pages/{name}/announcements/{id}"
	type listing struct {
		Name      string `path:"name"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
		Current   bool   `query:"current" doc:"Only those that are not over"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "announcement-list", Method: http.MethodGet, Path: list, Scope: access.ScopeRead,
		Summary: "List the announcements of a status page, newest first",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[public.Announcement], error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return core.Page[public.Announcement]{}, err
		}
		return api.Page(s.service.Announcements(ctx, view.AnnouncementFilter{
			Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Namespace: ns, StatusPage: in.Name, Current: in.Current,
		}))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "announcement-show", Method: http.MethodGet, Path: one, Scope: access.ScopeRead,
		Summary: "Show an announcement",
	}, func(ctx context.Context, c *api.Call, in *announcing) (public.Announcement, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return public.Announcement{}, err
		}
		return s.service.Announcement(ctx, ns, in.Name, in.ID)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "announcement-create", Method: http.MethodPost, Path: list, Scope: access.ScopeOperate, Created: true,
		Summary: "Announce something on a status page",
		Doc:     "It is shown to everyone above the sections, without its author. At most 20 of a status page are not over. The same from the same token within ten minutes is there once.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body public.Announcement) (public.Announcement, error) {
		ns, err := in.Resolve(c)
		if err == nil {
			body.Namespace, body.Page, err = ns, in.Name, agreed(ns, in.Name, body)
		}
		if err != nil {
			return public.Announcement{}, err
		}
		return s.service.CreateAnnouncement(ctx, body)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "announcement-update", Method: http.MethodPut, Path: one, Scope: access.ScopeOperate,
		Summary: "Replace the words, level and times of an announcement",
	}, func(ctx context.Context, c *api.Call, in *announcing, body public.Announcement) (public.Announcement, error) {
		ns, err := in.resolve(c)
		if err == nil {
			err = agreed(ns, in.Name, body)
		}
		if err != nil {
			return public.Announcement{}, err
		}
		body.Namespace, body.Page, body.ID = ns, in.Name, in.ID
		return s.service.UpdateAnnouncement(ctx, body)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "announcement-end", Method: http.MethodPost, Path: one + "/end", Scope: access.ScopeOperate,
		Summary: "End an announcement now",
	}, func(ctx context.Context, c *api.Call, in *announcing) (public.Announcement, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return public.Announcement{}, err
		}
		return s.service.EndAnnouncement(ctx, ns, in.Name, in.ID)
	})
}

// agreed refuses a body that names another status page than the path.
func agreed(namespace, page string, a public.Announcement) error {
	if _, err := api.Agree("namespace", namespace, a.Namespace); err != nil {
		return err
	}
	_, err := api.Agree("page", page, a.Page)
	return err
}
