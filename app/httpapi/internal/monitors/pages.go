package monitors

import (
	"context"
	"net/http"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/textdiff"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// versionNumber reads a version in the numbering of the service.
func versionNumber(field, text string) (int64, error) {
	switch text {
	case wire.NewestVersion:
		return 0, nil
	case wire.BaselineVersion:
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, core.InvalidField(field, wire.Shorten(text), "is not a version", "a number as the list of versions shows it, newest or baseline")
	}
	return n, nil
}

// byVersion names one version of a page.
type byVersion struct {
	Name      string `path:"name"`
	Version   string `path:"version" doc:"Its number, newest or baseline"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
}

func (in *byVersion) resolve(c *api.Call) (namespace string, seq int64, err error) {
	if namespace, err = (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c); err != nil {
		return "", 0, err
	}
	seq, err = versionNumber("version", in.Version)
	return namespace, seq, err
}

func (s *server) pageRoutes() {
	type listing struct {
		Name      string `path:"name"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-versions", Method: http.MethodGet, Path: "/v1/monitors/{name}/versions", Scope: access.ScopeRead,
		Summary: "List what its page was like, newest first, without the texts",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[monitor.PageVersion], error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return core.Page[monitor.PageVersion]{}, err
		}
		return api.Page(s.service.PageVersions(ctx, view.VersionFilter{
			Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Namespace: ns, Monitor: in.Name,
		}))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "monitor-version", Method: http.MethodGet, Path: "/v1/monitors/{name}/versions/{version}", Scope: access.ScopeRead,
		Summary: "Show a version of its page, with the text",
	}, func(ctx context.Context, c *api.Call, in *byVersion) (monitor.PageVersion, error) {
		ns, seq, err := in.resolve(c)
		if err != nil {
			return monitor.PageVersion{}, err
		}
		return s.service.PageVersion(ctx, ns, in.Name, seq)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "monitor-accept", Method: http.MethodPost, Path: "/v1/monitors/{name}/versions/{version}/accept", Scope: access.ScopeOperate,
		Summary: "Make a version the baseline that later ones are compared with",
	}, func(ctx context.Context, c *api.Call, in *byVersion) (monitor.PageVersion, error) {
		ns, seq, err := in.resolve(c)
		if err != nil {
			return monitor.PageVersion{}, err
		}
		return s.service.AcceptPage(ctx, ns, in.Name, seq)
	})

	type comparing struct {
		Name      string `path:"name"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
		From      string `query:"from" doc:"Number of a version, newest or baseline; default: the baseline, or if that is the other one, the version before it"`
		To        string `query:"to" doc:"Number of a version, newest or baseline; default: newest"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-diff", Method: http.MethodGet, Path: "/v1/monitors/{name}/diff", Scope: access.ScopeRead,
		Summary: "Compare two versions of its page",
	}, func(ctx context.Context, c *api.Call, in *comparing) (wire.PageDiff, error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return wire.PageDiff{}, err
		}
		return s.diff(ctx, ns, in.Name, in.From, in.To)
	})
}

func (s *server) diff(ctx context.Context, namespace, monitor, from, to string) (d wire.PageDiff, err error) {
	var first, second int64 = -1, 0
	if from != "" {
		if first, err = versionNumber("from", from); err != nil {
			return d, err
		}
	}
	if to != "" {
		if second, err = versionNumber("to", to); err != nil {
			return d, err
		}
	}
	if d.To, err = s.textOf(ctx, namespace, monitor, second); err != nil {
		return d, err
	}
	if from == "" && d.To.Baseline && d.To.Seq > 1 {
		first = d.To.Seq - 1
	}
	if d.From, err = s.textOf(ctx, namespace, monitor, first); err != nil {
		return d, err
	}
	d.Result = textdiff.Diff(d.From.Text, d.To.Text, textdiff.Options{})
	d.From.Text, d.To.Text = "", ""
	return d, nil
}

func (s *server) textOf(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error) {
	v, err := s.service.PageVersion(ctx, namespace, monitor, seq)
	if err == nil && v.Pruned {
		err = core.Errorf(core.Conflict, "the text of version %d is no longer kept", v.Seq).WithHint("compare newer ones")
	}
	return v, err
}
