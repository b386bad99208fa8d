package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
)

// shownOccasions is how many occurrences of a window are shown when nobody
// says.
const shownOccasions = 10

func (s *Server) windowRoutes() {
	serveDocument(s, document[monitor.Window]{
		id: "window", path: "/v1/windows", one: "a window of maintenance", many: "windows of maintenance",
		saving: " It holds from now on; what was before stays what it was.",
		ending: "The time that it took stays what it was.",
		owner:  func(d *monitor.Window) (namespace, name *string) { return &d.Namespace, &d.Name },
		save:   s.service.SaveWindow, drop: s.service.DeleteWindow, read: s.service.Window, list: s.service.Windows,
	})

	type looking struct {
		Name      string    `path:"name"`
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default"`
		N         int       `query:"n" minimum:"0" maximum:"1000" doc:"How many; default: 10"`
		From      time.Time `query:"from" doc:"Not over at this time; default: now"`
	}
	serve(s, endpoint{
		id: "window-next", method: http.MethodGet, path: "/v1/windows/{name}/next", scope: access.ScopeRead,
		summary: "Compute when it holds next",
		doc:     "One that is off never does.",
	}, func(ctx context.Context, c *call, in *looking) (wire.OccasionList, error) {
		ns, err := (&byName{in.Name, in.Namespace}).resolve(c)
		if err != nil {
			return wire.OccasionList{}, err
		}
		w, err := s.service.Window(ctx, ns, in.Name)
		if err != nil {
			return wire.OccasionList{}, err
		}
		return occasions(w, in.From, in.N)
	})

	type previewing struct {
		N    int       `query:"n" minimum:"0" maximum:"1000" doc:"How many; default: 10"`
		From time.Time `query:"from" doc:"Not over at this time; default: now"`
	}
	serveBody(s, endpoint{
		id: "window-preview", method: http.MethodPost, path: "/v1/windows/preview", scope: access.ScopeRead,
		summary: "Compute when a window that is not saved would hold",
		doc:     "Nothing is written. It needs no name.",
	}, func(_ context.Context, _ *call, in *previewing, w monitor.Window) (wire.OccasionList, error) {
		w.Name = cmp.Or(w.Name, "preview")
		w = w.WithDefaults()
		if err := w.Validate(time.Now()); err != nil {
			return wire.OccasionList{}, err
		}
		return occasions(w, in.From, in.N)
	})
}

func occasions(w monitor.Window, from time.Time, n int) (wire.OccasionList, error) {
	plan, err := monitor.CompileWindow(w)
	if err != nil {
		return wire.OccasionList{}, err
	}
	if from.IsZero() {
		from = time.Now()
	}
	return wire.OccasionList{Items: list(plan.Upcoming(from, cmp.Or(n, shownOccasions)))}, nil
}
