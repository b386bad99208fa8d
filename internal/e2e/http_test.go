//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

// answer is the answer to a request without the client library.
type answer struct {
	StatusCode int
	Body       string
}

var plain = &http.Client{Timeout: patience}

// request sends a request as curl would.
func request(method, url, token, body string) (answer, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := plain.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, string(text)}, err
}

func send(t testing.TB, method, url, token, body string) answer {
	t.Helper()
	return must[answer](t)(request(method, url, token, body))
}

func get(t testing.TB, url, token string) answer {
	t.Helper()
	return send(t, http.MethodGet, url, token, "")
}

// problem is an error document of the API.
type problem struct {
	Status int               `json:"status"`
	Code   core.Code         `json:"code"`
	Detail string            `json:"detail"`
	Hint   string            `json:"hint"`
	Errors []core.FieldError `json:"errors"`
}

func (a answer) problem(t testing.TB) (p problem) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		t.Fatalf("answer %d is no problem document: %v\n%s", a.StatusCode, err, a.Body)
	}
	return p
}

// readyWithin waits until /readyz answers with a status.
func readyWithin(t testing.TB, url string, within time.Duration, status int) {
	t.Helper()
	eventually(t, within, url+"/readyz answers "+http.StatusText(status), func() (bool, string) {
		a, err := request(http.MethodGet, url+"/readyz", "", "")
		if err != nil {
			return false, err.Error()
		}
		return a.StatusCode == status, a.Body
	})
}
