package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
)

// Where callers that were made for another tool call: push monitors of Uptime
// Kuma, and external endpoints of Gatus. The token is part of the path of the
// first, and a header of the second.
const (
	pushPrefix     = "/api/push/"
	externalPrefix = "/api/v1/endpoints/"
)

// maxForeignToken bounds what is taken for a token or a key, in bytes.
const maxForeignToken = 1 << 10

// isBeat reports that a path is one of heartbeats, which bring a key and nothing
// that a browser adds by itself.
func isBeat(path string) bool {
	return strings.HasPrefix(path, wire.BeatPrefix) || strings.HasPrefix(path, pushPrefix) || strings.HasPrefix(path, externalPrefix)
}

// withoutKey is a path as it may be logged.
func withoutKey(path string) string {
	for _, prefix := range []string{wire.BeatPrefix, pushPrefix} {
		if strings.HasPrefix(path, prefix) {
			return prefix + "…" // the rest is a key
		}
	}
	return path
}

func (s *Server) foreignBeatRoutes() {
	s.mux.HandleFunc("GET "+pushPrefix+"{token}", s.takePush)
	s.mux.HandleFunc("POST "+pushPrefix+"{token}", s.takePush)
	s.mux.HandleFunc("POST "+externalPrefix+"{key}/external", s.takeExternal)
}

// takePush answers as Uptime Kuma does.
func (s *Server) takePush(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	call := monitor.Call{Kind: monitor.CallSuccess, Message: q.Get("msg")}
	if status := q.Get("status"); status != "" && status != "up" {
		call.Kind = monitor.CallFail
	}
	_, _ = io.CopyN(io.Discard, r.Body, s.opts.MaxBody)
	token := r.PathValue("token")
	if err := s.foreignBeat(r, len(token), monitor.PushDigest(token), call); err != nil {
		p := s.fail(r.Context(), err)
		writeJSON(w, p.Status, map[string]any{"ok": false, "msg": p.Detail})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true})
}

// takeExternal answers as Gatus does, but that it does not say whether the key or
// the token was wrong.
func (s *Server) takeExternal(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	call := monitor.Call{Kind: monitor.CallSuccess}
	var said struct {
		Error string `json:"error"`
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxBeatBody))
	_ = json.Unmarshal(body, &said) // it may well be empty
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

// foreignBeat counts a call whether or not its caller waits for the answer.
func (s *Server) foreignBeat(r *http.Request, size int, digest string, call monitor.Call) error {
	if size > maxForeignToken {
		return core.Errorf(core.NotFound, "no heartbeat has this token")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), handleTimeout)
	defer cancel()
	_, err := s.service.Beat(ctx, digest, call)
	return err
}
