package probe

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// request returns the request of a task, with the task's headers. A job also
// sends headers that identify it, with a key that is the same for every attempt,
// so that the server can recognize a retry. A check only sends a User-Agent.
func (c *check) request(h *task.HTTP) (*http.Request, error) {
	body, isInput := c.bodyOf(h)
	method := h.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(context.Background(), method, h.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	reach.SetBody(req, body)
	req.Header.Set("User-Agent", c.e.net.Agent())
	if c.run != nil {
		setOwnHeaders(req.Header, c.run)
	}
	if isInput {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range h.Headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	switch a := h.Auth; {
	case a == nil:
	case a.Bearer != "":
		req.Header.Set("Authorization", "Bearer "+string(a.Bearer))
	case a.User != "" || a.Password != "":
		req.SetBasicAuth(a.User, string(a.Password))
		_, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
		addAuth(c, token)
	}
	return req, nil
}

func (c *check) bodyOf(h *task.HTTP) (body string, isInput bool) {
	if h.Body != "" {
		return h.Body, false
	}
	input := c.Task.Input
	if c.run != nil {
		input = c.run.Input()
	}
	switch h.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return string(input), len(input) > 0
	}
	return "", false
}

func setOwnHeaders(to http.Header, r *worker.Run) {
	to.Set("Belfry-Job", strconv.FormatInt(r.Job.ID, 10))
	to.Set("Belfry-Attempt", strconv.Itoa(r.Job.Attempt))
	to.Set("Belfry-Task", r.Job.Task)
	to.Set("Idempotency-Key", r.Key())
	if !r.Job.Nominal.IsZero() {
		to.Set("Belfry-Nominal-Time", r.Job.Nominal.UTC().Format(time.RFC3339Nano))
	}
}
