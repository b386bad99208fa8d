package monitors

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// MaxBeatBody is how many bytes of the body of a heartbeat call are kept. A
// longer body is not an error.
const MaxBeatBody = 10 << 10

// beatKeyRule matches well-formed keys. Others are unknown without a database
// query.
var beatKeyRule = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)

// beatRoutes serves the public URLs of heartbeats. HEAD counts like GET, because
// some clients send it; the router handles it as GET.
func (s *server) beatRoutes() {
	for _, pattern := range []string{"GET /beat/{key}", "POST /beat/{key}", "GET /beat/{key}/{said}", "POST /beat/{key}/{said}"} {
		s.Mux.HandleFunc(pattern, s.takeBeat)
	}
}

// takeBeat counts a call, also if its caller does not wait for the answer.
func (s *server) takeBeat(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), api.HandleTimeout)
	defer cancel()
	out, err := s.beatOf(ctx, r)
	inJSON := strings.Contains(r.Header.Get("Accept"), "application/json")
	switch {
	case err != nil && inJSON:
		s.Refuse(r.Context(), w, err)
	case err != nil:
		s.refuseText(r.Context(), w, err)
	case inJSON:
		api.WriteJSON(w, http.StatusOK, out)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok\n")
	}
}

func (s *server) beatOf(ctx context.Context, r *http.Request) (view.Beaten, error) {
	call, err := callSaid(r.PathValue("said"))
	if err != nil {
		return view.Beaten{}, err
	}
	key := r.PathValue("key")
	if !beatKeyRule.MatchString(key) {
		return view.Beaten{}, core.Errorf(core.NotFound, "no heartbeat has this key").WithHint("see: belfry monitor show NAME")
	}
	// The call counts even if its body ends early.
	body, _ := io.ReadAll(io.LimitReader(r.Body, MaxBeatBody))
	call.Message, call.RunID = strings.TrimSpace(string(body)), r.URL.Query().Get("rid")
	return s.service.Beat(ctx, key, call)
}

// callSaid reads the part of the path after the key: empty, a word, or an exit code.
func callSaid(text string) (monitor.Call, error) {
	switch kind := monitor.CallKind(cmp.Or(text, string(monitor.CallSuccess))); kind {
	case monitor.CallStart, monitor.CallSuccess, monitor.CallFail, monitor.CallLog:
		return monitor.Call{Kind: kind}, nil
	}
	code, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return monitor.Call{}, core.Errorf(core.Invalid, "%q is nothing that a heartbeat can say", wire.Shorten(text)).
			WithHint("one of start, success, fail, log, or an exit code from 0 to 255")
	}
	exit := int(code)
	if exit == 0 {
		return monitor.Call{Kind: monitor.CallSuccess, ExitCode: &exit}, nil
	}
	return monitor.Call{Kind: monitor.CallFail, ExitCode: &exit}, nil
}

// refuseText answers with an error as plain text.
func (s *server) refuseText(ctx context.Context, w http.ResponseWriter, err error) {
	p := s.Fail(ctx, err)
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(p.Status)
	text := p.Detail
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	_, _ = io.WriteString(w, text+"\n")
}
