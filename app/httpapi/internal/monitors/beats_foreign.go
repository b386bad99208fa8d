package monitors

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
)

// maxForeignToken limits tokens and keys, in bytes.
const maxForeignToken = 1 << 10

func (s *server) foreignBeatRoutes() {
	s.Mux.HandleFunc("GET "+api.PushPrefix+"{token}", s.takePush)
	s.Mux.HandleFunc("POST "+api.PushPrefix+"{token}", s.takePush)
	s.Mux.HandleFunc("POST "+api.ExternalPrefix+"{key}/external", s.takeExternal)
}

// takePush takes a call for Uptime Kuma, and answers in the same format.
func (s *server) takePush(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	call := monitor.Call{Kind: monitor.CallSuccess, Message: q.Get("msg")}
	if status := q.Get("status"); status != "" && status != "up" {
		call.Kind = monitor.CallFail
	}
	_, _ = io.CopyN(io.Discard, r.Body, s.Options.MaxBody)
	token := r.PathValue("token")
	if err := s.foreignBeat(r, len(token), monitor.PushDigest(token), call); err != nil {
		p := s.Fail(r.Context(), err)
		api.WriteJSON(w, p.Status, map[string]any{"ok": false, "msg": p.Detail})
		return
	}
	api.WriteJSON(w, http.StatusOK, map[string]any{"ok": true})
}

// takeExternal takes a call for Gatus, and answers in the same format. Unlike
// Gatus, it does not reveal whether the key or the token was wrong.
func (s *server) takeExternal(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	call := monitor.Call{Kind: monitor.CallSuccess}
	var said struct {
		Error string `json:"error"`
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, MaxBeatBody))
	_ = json.Unmarshal(body, &said) // the body may be empty
	switch q.Get("success") {
	case "true":
	case "false":
		call.Kind, call.Message = monitor.CallFail, strings.TrimSpace(q.Get("error")+" "+said.Error)
	default:
		s.refuseText(r.Context(), w, core.Errorf(core.Invalid, "success must be true or false"))
		return
	}
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token = strings.TrimSpace(token); !isBearer || token == "" {
		s.refuseText(r.Context(), w, core.Errorf(core.Unauthorized, "the request has no token").WithHint("send Authorization: Bearer TOKEN"))
		return
	}
	key := r.PathValue("key")
	if err := s.foreignBeat(r, len(key)+len(token), monitor.ExternalDigest(key, token), call); err != nil {
		s.refuseText(r.Context(), w, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// foreignBeat counts a call, also if its caller does not wait for the answer.
func (s *server) foreignBeat(r *http.Request, size int, digest string, call monitor.Call) error {
	if size > maxForeignToken {
		return core.Errorf(core.NotFound, "no heartbeat has this token")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), api.HandleTimeout)
	defer cancel()
	_, err := s.service.Beat(ctx, digest, call)
	return err
}
