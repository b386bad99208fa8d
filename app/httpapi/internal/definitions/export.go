package definitions

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (s *server) exportRoute() {
	type exporting struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	}
	api.Stream(s.API, api.Endpoint{
		Id: "definition-export", Method: http.MethodGet, Path: "/v1/export", Scope: access.ScopeRead, Timeout: wire.ApplyTimeout,
		Summary: "Export queues, calendars, tasks, schedules, monitors, channels, alert rules and hooks as a manifest, without secrets",
		Doc: "A namespace with more than 100,000 tasks, schedules or monitors is refused: a manifest holds no more. " +
			"The answer is of one instant. One of more than 8 MiB, or beside another export, is read in parts: if a definition changes meanwhile, the answer breaks off before its end. Ask again then.",
	}, map[string]reflect.Type{"application/json": reflect.TypeFor[view.Manifest]()}, func(ctx context.Context, c *api.Call, in *exporting) (func(http.ResponseWriter), error) {
		ns, err := api.InNamespace(c.Token, "namespace", in.Namespace)
		if err != nil {
			return nil, err
		}
		first, release := s.firstPart()
		next := s.service.ExportParts(ns, first)
		part, more, err := next(ctx)
		if err != nil {
			release()
			return nil, err
		}
		return func(w http.ResponseWriter) {
			defer release()
			first := part
			part = view.Manifest{} // so that it is not kept until the end of the answer
			s.sendExport(ctx, w, first, more, next)
		}, nil
	})
}

// An export of up to largePart bytes is read at once, so that edits meanwhile do not break it off. At most largeParts are in
// memory at a time; other exports are read in small parts.
const (
	largePart  = 8 << 20
	largeParts = 1
)

// firstPart returns the size of the first part of an export, and a function to call at the end of the answer.
func (s *server) firstPart() (size int, release func()) {
	select {
	case s.large <- struct{}{}:
		return largePart, func() { <-s.large }
	default:
		return 0, func() {}
	}
}

// sendExport sends an export part by part. While a slow reader reads a part, only its JSON is in memory.
func (s *server) sendExport(ctx context.Context, w http.ResponseWriter, part view.Manifest, more bool, next func(context.Context) (view.Manifest, bool, error)) {
	w.Header().Set("Content-Type", "application/json")
	var text manifestText
	for {
		err := text.add(Redacted(part))
		part = view.Manifest{}
		if err == nil && !more {
			text.end()
		}
		if err == nil {
			if _, err := w.Write(text.Next(text.Len())); err != nil || !more {
				return // the reader has disconnected, or has the whole export
			}
			part, more, err = next(ctx)
		}
		if err != nil {
			s.Fail(ctx, err)
			panic(http.ErrAbortHandler) // a truncated export must not look complete
		}
	}
}

// manifestText is the JSON of a manifest whose parts are added one after the other.
type manifestText struct {
	bytes.Buffer
	list string // the one that is open; empty: none yet
}

// add writes a part. The order of parts is that of the fields of a manifest.
func (m *manifestText) add(part view.Manifest) error {
	enc := json.NewEncoder(m)
	enc.SetEscapeHTML(false)
	lists := reflect.ValueOf(part)
	for i := range lists.NumField() {
		name, _, _ := strings.Cut(lists.Type().Field(i).Tag.Get("json"), ",")
		for item := range lists.Field(i).Len() {
			switch m.list {
			case name:
				m.WriteString(",")
			case "":
				m.WriteString(`{"` + name + `":[`)
			default:
				m.WriteString(`],"` + name + `":[`)
			}
			m.list = name
			full, err := body.FullArrays(nil, "", lists.Field(i).Index(item).Interface())
			if err == nil {
				err = enc.Encode(full)
			}
			if err != nil {
				return err
			}
			m.Truncate(m.Len() - 1) // the newline of the encoder
		}
	}
	return nil
}

func (m *manifestText) end() {
	if m.list == "" {
		m.WriteString("{")
	} else {
		m.WriteString("]")
	}
	m.WriteString("}\n")
}

// Redacted returns a manifest without secrets.
func Redacted(m view.Manifest) view.Manifest {
	m.Tasks = api.Each(m.Tasks, task.Task.Redacted)
	m.Channels = api.Each(m.Channels, alert.Channel.Redacted)
	m.Hooks = api.Each(m.Hooks, hook.Hook.Redacted)
	m.Monitors = api.Each(m.Monitors, monitor.Monitor.Redacted)
	return m
}
