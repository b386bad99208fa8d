package monitors

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
)

// shownOccasions is the default number of listed occurrences of a maintenance
// window.
const shownOccasions = 10

func (s *server) windowRoutes() {
	api.ServeDocument(s.API, api.Document[monitor.Window]{
		Id: "window", Path: "/v1/windows", One: "a window of maintenance", Many: "windows of maintenance",
		Saving: " It holds from now on; what was before stays what it was.",
		Ending: "The time that it took stays what it was.",
		Owner:  func(d *monitor.Window) (namespace, name *string) { return &d.Namespace, &d.Name },
		Save:   s.service.SaveWindow, Drop: s.service.DeleteWindow, Read: s.service.Window, List: s.service.Windows,
	})

	type looking struct {
		Name      string    `path:"name"`
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default"`
		N         int       `query:"n" minimum:"0" maximum:"1000" doc:"How many; default: 10"`
		From      time.Time `query:"from" doc:"Not over at this time; default: now"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "window-next", Method: http.MethodGet, Path: "/v1/windows/{name}/next", Scope: access.ScopeRead,
		Summary: "Compute when it holds next",
		Doc:     "One that is off never does.",
	}, func(ctx context.Context, c *api.Call, in *looking) (wire.OccasionList, error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return wire.OccasionList{}, err
		}
		w, err := s.service.Window(ctx, ns, in.Name)
		if err != nil {
			return wire.OccasionList{}, err
		}
		return s.occasions(w, in.From, in.N)
	})

	type previewing struct {
		N    int       `query:"n" minimum:"0" maximum:"1000" doc:"How many; default: 10"`
		From time.Time `query:"from" doc:"Not over at this time; default: now"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "window-preview", Method: http.MethodPost, Path: "/v1/windows/preview", Scope: access.ScopeRead,
		Summary: "Compute when a window that is not saved would hold",
		Doc:     "Nothing is written. It needs no name.",
	}, func(_ context.Context, _ *api.Call, in *previewing, w monitor.Window) (wire.OccasionList, error) {
		w.Name = cmp.Or(w.Name, "preview")
		w = w.WithDefaults()
		if err := w.Validate(s.Options.Now()); err != nil {
			return wire.OccasionList{}, err
		}
		return s.occasions(w, in.From, in.N)
	})
}

func (s *server) occasions(w monitor.Window, from time.Time, n int) (wire.OccasionList, error) {
	plan, err := monitor.CompileWindow(w)
	if err != nil {
		return wire.OccasionList{}, err
	}
	if from.IsZero() {
		from = s.Options.Now()
	}
	return wire.OccasionList{Items: api.List(plan.Upcoming(from, cmp.Or(n, shownOccasions)))}, nil
}
