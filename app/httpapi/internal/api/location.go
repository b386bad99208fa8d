package api

import (
	"net/url"
	"strconv"

	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// creation is an answer about several resources, some of which may have existed before.
type creation interface {
	Made() bool // at least one is new
	Only() any  // the only one, or nil
}

// located returns the path of a new resource, or "" if it has none.
func located(v any) string {
	in := func(namespace, noun, name string) string {
		return "/v1/" + noun + "/" + url.PathEscape(name) + "?namespace=" + url.QueryEscape(namespace)
	}
	number := func(id int64) string { return strconv.FormatInt(id, 10) }
	switch v := v.(type) {
	case task.Task:
		return in(v.Namespace, "tasks", v.Name)
	case schedule.Schedule:
		return in(v.Namespace, "schedules", v.Name)
	case view.MonitorView:
		return in(v.Namespace, "monitors", v.Name)
	case schedule.Backfill:
		return in(v.Namespace, "backfills", number(v.ID))
	case task.Upload:
		return in(v.Artifact.Namespace, "artifacts", v.Artifact.SHA256)
	case job.Job:
		return in(v.Namespace, "jobs", number(v.ID))
	case job.Enqueued:
		return in(v.Job.Namespace, "jobs", number(v.Job.ID))
	case creation:
		if one := v.Only(); one != nil {
			return located(one)
		}
	case wire.NewToken:
		return "/v1/tokens/" + number(v.Token.ID)
	case wire.NewJoinToken:
		return "/v1/join-tokens/" + number(v.Token.ID)
	case job.Session:
		return "/v1/sessions/" + url.PathEscape(v.ID)
	}
	return ""
}
