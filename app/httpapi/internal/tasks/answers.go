package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/workflow"
)

// keyRule matches well-formed keys of links. Others are unknown without a database query.
var keyRule = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// answerRoutes serves the links to signals and approvals: a page with the question to people, and JSON to programs. A GET
// changes nothing, because mail scanners open links too.
func (s *server) answerRoutes(people http.Handler) {
	s.Mux.HandleFunc("GET "+job.AnswerPath+"{key}", func(w http.ResponseWriter, r *http.Request) {
		if people != nil && !strings.Contains(r.Header.Get("Accept"), "application/json") {
			people.ServeHTTP(w, r)
			return
		}
		s.sayAnswer(w, r, func(ctx context.Context, key string) (any, error) { return s.links.Linked(ctx, key) })
	})
	s.Mux.HandleFunc("POST "+job.AnswerPath+"{key}", func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if people != nil && kind == "application/x-www-form-urlencoded" && !strings.Contains(r.Header.Get("Accept"), "application/json") {
			people.ServeHTTP(w, r)
			return
		}
		s.sayAnswer(w, r, func(ctx context.Context, key string) (any, error) { return s.takeAnswer(ctx, key, r) })
	})
}

// sayAnswer answers in JSON. A signal or approval counts even if its sender does not wait for the answer.
func (s *server) sayAnswer(w http.ResponseWriter, r *http.Request, do func(ctx context.Context, key string) (any, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), api.HandleTimeout)
	defer cancel()
	w.Header().Set("Cache-Control", "no-store")
	key := r.PathValue("key")
	if !keyRule.MatchString(key) {
		s.Refuse(r.Context(), w, core.Errorf(core.NotFound, "no such link is valid").WithHint("check that the address is whole"))
		return
	}
	out, err := do(ctx, key)
	if err != nil {
		s.Refuse(r.Context(), w, err)
		return
	}
	api.WriteJSON(w, http.StatusOK, out)
}

// takeAnswer reads the body that a program posts: reject and note of an approval, or the data of a signal.
func (s *server) takeAnswer(ctx context.Context, key string, r *http.Request) (workflow.Sent, error) {
	linked, err := s.links.Linked(ctx, key) // first: a body for an unknown link is not read
	if err != nil {
		return workflow.Sent{}, err
	}
	said, err := io.ReadAll(io.LimitReader(r.Body, workflow.MaxSignal+1))
	if err != nil {
		return workflow.Sent{}, core.Errorf(core.Invalid, "the body was not sent to its end")
	}
	if len(said) > workflow.MaxSignal { // the rest is not known, and may say something else
		return workflow.Sent{}, core.Errorf(core.TooLarge, "the body is over the limit of %d bytes", workflow.MaxSignal)
	}
	sig := workflow.Signal{Name: linked.Name, ID: r.URL.Query().Get("id")}
	said = bytes.TrimSpace(said)
	switch {
	case len(said) > 0 && !json.Valid(said):
		return workflow.Sent{}, core.Errorf(core.Invalid, "the body is not JSON")
	case linked.Approval == "":
		if len(said) > 0 { // read as strictly as other bodies
			err = body.Decode(said, &sig.Input)
		}
		if err != nil {
			return workflow.Sent{}, err
		}
	case len(said) == 0:
		return workflow.Sent{}, notAnAnswer(errors.New("the body is empty"))
	default:
		var answer struct {
			Reject *bool  `json:"reject"`
			Note   string `json:"note"`
		}
		if err := body.Decode(said, &answer); err != nil {
			if e := (*core.Error)(nil); errors.As(err, &e) && e.Hint == "" {
				err = e.WithHint(answerHint)
			}
			return workflow.Sent{}, err
		}
		if answer.Reject == nil { // an approval must be explicit
			return workflow.Sent{}, notAnAnswer(errors.New("reject is missing"))
		}
		sig.Reject, sig.Note = *answer.Reject, answer.Note
	}
	return s.links.SendByLink(ctx, key, sig)
}

func notAnAnswer(err error) error {
	return core.Errorf(core.Invalid, "the body is not an answer to an approval: %v", err).WithHint(answerHint)
}

const answerHint = `post {"reject": false, "note": "why"}`
