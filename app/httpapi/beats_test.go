package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/app/httpapi/internal/monitors"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

const beatKey = "0123456789abcdef0123456789abcdef"

func exit(code int) *int { return &code }

func TestCallsOfAHeartbeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		method, path, body string
		call               monitor.Call
	}{
		{"GET", "", "", monitor.Call{Kind: monitor.CallSuccess}},
		{"HEAD", "", "", monitor.Call{Kind: monitor.CallSuccess}},
		{"POST", "", "all is well\n", monitor.Call{Kind: monitor.CallSuccess, Message: "all is well"}},
		{"GET", "/start", "", monitor.Call{Kind: monitor.CallStart}},
		{"GET", "/start?rid=7f3", "", monitor.Call{Kind: monitor.CallStart, RunID: "7f3"}},
		{"HEAD", "/success", "", monitor.Call{Kind: monitor.CallSuccess}},
		{"POST", "/fail?rid=7f3&create=1", "disk full", monitor.Call{Kind: monitor.CallFail, RunID: "7f3", Message: "disk full"}},
		{"POST", "/log", "half way", monitor.Call{Kind: monitor.CallLog, Message: "half way"}},
		{"POST", "/0", "", monitor.Call{Kind: monitor.CallSuccess, ExitCode: exit(0)}},
		{"GET", "/1", "", monitor.Call{Kind: monitor.CallFail, ExitCode: exit(1)}},
		{"POST", "/255", "killed", monitor.Call{Kind: monitor.CallFail, ExitCode: exit(255), Message: "killed"}},
	} {
		// As curl sends it: no token, and a type of the body that says nothing.
		status, h, body := b.raw(t, c.method, "/beat/"+beatKey+c.path, c.body, "Authorization", "", "Accept", "*/*", "Content-Type", "application/x-www-form-urlencoded")
		want := "ok\n"
		if c.method == "HEAD" {
			want = ""
		}
		if status != 200 || body != want || h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d %q %v", c.method, c.path, status, body, h)
		}
		same(t, c.method+" "+c.path, b.last(), []any{"Beat", beatKey, c.call})
	}
}

func TestCallsThatNoHeartbeatTakes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/beat/nokey", 404, "no heartbeat has this key"},
		{"POST", "/beat/" + beatKey + "0", 404, "no heartbeat has this key"},
		{"GET", "/beat/" + beatKey + "/done", 422, "nothing that a heartbeat can say (one of start, success"},
		{"GET", "/beat/" + beatKey + "/256", 422, `"256" is nothing`},
		{"GET", "/beat/" + beatKey + "/-1", 422, "exit code from 0 to 255"},
	} {
		status, h, body := b.raw(t, c.method, c.path, "", "Authorization", "")
		if status != c.status || !strings.Contains(body, c.says) || !strings.HasSuffix(body, "\n") || h.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s %s: %d %q", c.method, c.path, status, body)
		}
	}
	if b.last() != nil {
		t.Errorf("the service was asked %v", b.last())
	}
	b.refused(t, 405, "DELETE", "/beat/"+beatKey, "", "Authorization", "")
	b.refused(t, 404, "GET", "/beat/nokey", "", "Accept", "application/json")
	b.fail(core.Errorf(core.NotFound, "no heartbeat has this key"))
	if status, _, body := b.raw(t, "GET", "/beat/"+beatKey, "", "Authorization", ""); status != 404 || body != "no heartbeat has this key\n" {
		t.Errorf("%d %q", status, body)
	}
	b.fail(core.Errorf(core.Unavailable, "the database is away"))
	if status, h, body := b.raw(t, "GET", "/beat/"+beatKey, "", "Authorization", ""); status != 503 || h.Get("Retry-After") == "" || body != "the database is away\n" {
		t.Errorf("%d %q %v", status, body, h)
	}
	if strings.Contains(b.logged.text(), beatKey) {
		t.Error("a key is in the log")
	}
}

func TestHeartbeatMessagesAreCutAndNotRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.MaxBody = 64 << 10 })
	for _, size := range []int{monitors.MaxBeatBody, monitors.MaxBeatBody + 1, 50 << 10} {
		if status, _, body := b.raw(t, "POST", "/beat/"+beatKey, strings.Repeat("x", size), "Authorization", ""); status != 200 || body != "ok\n" {
			t.Errorf("%d bytes: %d %q", size, status, body)
		}
		if n := len(b.last()[2].(monitor.Call).Message); n != monitors.MaxBeatBody {
			t.Errorf("of %d bytes, %d were kept", size, n)
		}
	}
}

// A client that sends all of a large body before it reads the answer gets the answer. If the connection were reset instead, curl
// --retry would make the call once more.
func TestACallWithALargeBodyIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 32 << 20
	if _, err := fmt.Fprintf(conn, "POST /beat/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", beatKey, size); err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 1<<20)
	for range size / len(part) {
		if _, err := conn.Write(part); err != nil {
			t.Fatalf("the body cannot be sent: %v", err)
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || string(text) != "ok\n" {
		t.Errorf("%d %q, %v", answer.StatusCode, text, err)
	}
}

func TestACallCountsThoughItsCallerLeaves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	left, counted := make(chan struct{}), make(chan error, 1)
	b.when("Beat", func(ctx context.Context, _ []any) (any, error) {
		<-left
		counted <- ctx.Err()
		return view.Beaten{}, nil
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /beat/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nsaid half", beatKey); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close() // in the middle of its body
	b.await(t.Context(), "Beat", 1)
	close(left)
	if err := <-counted; err != nil {
		t.Errorf("the call was given up: %v", err)
	}
	if got := b.last()[2].(monitor.Call).Message; got != "said half" {
		t.Errorf("it said %q", got)
	}
}

func TestAHeartbeatIsTakenFromAnywhere(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Hosts = []string{"127.0.0.1"} })
	for _, headers := range [][]string{
		{"Host", "belfry.example.com"},
		{"Origin", "https://elsewhere.example"},
		{"Sec-Fetch-Site", "cross-site"},
	} {
		headers = append(headers, "Authorization", "")
		if status, _, body := b.raw(t, "POST", "/beat/"+beatKey, "x", headers...); status != 200 {
			t.Errorf("%v: %d %s", headers, status, body)
		}
	}
	// And nothing else is.
	b.refused(t, 421, "GET", "/v1/tasks", "", "Host", "belfry.example.com")
	b.refused(t, 421, "GET", "/badge/default/m/status.svg", "", "Host", "belfry.example.com")
	b.refused(t, 403, "POST", "/v1/jobs", `{"task":"t"}`, "Origin", "https://elsewhere.example")
}

func TestTheClientOfAHeartbeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.as(t, "")
	for _, call := range []monitor.Call{
		{Kind: monitor.CallStart, RunID: "r/1 &"},
		{Kind: monitor.CallSuccess, Message: "ü\nline"},
		{Kind: monitor.CallSuccess, ExitCode: exit(0)},
		{Kind: monitor.CallFail, ExitCode: exit(3), Message: "m", RunID: "r"},
		{Kind: monitor.CallFail},
		{Kind: monitor.CallLog, Message: "m"},
	} {
		out, err := c.Beat(t.Context(), beatKey, call)
		if err != nil {
			t.Errorf("%+v: %v", call, err)
		}
		same(t, "arrived", b.last(), []any{"Beat", beatKey, call})
		same(t, "came back", out, apitest.Filled[view.Beaten]())
	}
	if _, err := c.Beat(t.Context(), beatKey, monitor.Call{}); err != nil || b.last()[2].(monitor.Call).Kind != monitor.CallSuccess {
		t.Errorf("an empty call: %v %v", err, b.last())
	}
	if _, err := c.Beat(t.Context(), "x/../y", monitor.Call{}); core.CodeOf(err) != core.NotFound {
		t.Errorf("an odd key: %v", err)
	}
	// A call is repeated when its answer is lost.
	times := 0
	b.when("Beat", func(context.Context, []any) (any, error) {
		if times++; times == 1 {
			b.cut()
		}
		return view.Beaten{Monitor: "m"}, nil
	})
	if out, err := c.Beat(t.Context(), beatKey, monitor.Call{}); err != nil || out.Monitor != "m" || times != 2 {
		t.Errorf("%+v %v after %d times", out, err, times)
	}
}

// TestCallsMadeForOtherTools are as Uptime Kuma and Gatus take them.
func TestCallsMadeForOtherTools(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Hosts = []string{"belfry.example"} })
	push, external := monitor.PushDigest("Ab1_-token"), monitor.ExternalDigest("core_backup", "s3cret")
	for _, c := range []struct {
		method, path, body, authorization string
		status                            int
		says, digest                      string
		call                              monitor.Call
	}{
		{"GET", "/api/push/Ab1_-token?status=up&msg=OK&ping=12", "", "", 200, `{"ok":true}`, push, monitor.Call{Kind: monitor.CallSuccess, Message: "OK"}},
		{"GET", "/api/push/Ab1_-token", "", "", 200, `{"ok":true}`, push, monitor.Call{Kind: monitor.CallSuccess}},
		{"HEAD", "/api/push/Ab1_-token", "", "", 200, "", push, monitor.Call{Kind: monitor.CallSuccess}},
		{"POST", "/api/push/Ab1_-token?status=down&msg=disk+full", "x=y", "", 200, `{"ok":true}`, push, monitor.Call{Kind: monitor.CallFail, Message: "disk full"}},
		{"POST", "/api/v1/endpoints/core_backup/external?success=true&duration=3s", "", "Bearer s3cret", 200, "", external, monitor.Call{Kind: monitor.CallSuccess}},
		{"POST", "/api/v1/endpoints/CORE_backup/external?success=false&error=no+space", `{"error":"left"}`, "Bearer s3cret", 200, "", external, monitor.Call{Kind: monitor.CallFail, Message: "no space left"}},
		{"POST", "/api/v1/endpoints/core_backup/external?success=false", "", "Bearer s3cret", 200, "", external, monitor.Call{Kind: monitor.CallFail}},
		{"POST", "/api/v1/endpoints/core_backup/external", "", "Bearer s3cret", 422, "success must be true or false", "", monitor.Call{}},
		{"POST", "/api/v1/endpoints/core_backup/external?success=true", "", "", 401, "no token", "", monitor.Call{}},
		{"GET", "/api/push/" + strings.Repeat("x", 2000), "", "", 404, `"ok":false`, "", monitor.Call{}},
	} {
		b.seen["Beat"] = 0
		status, _, body := b.raw(t, c.method, c.path, c.body, "Authorization", c.authorization, "Host", "any.example", "Sec-Fetch-Site", "cross-site")
		if status != c.status || !strings.Contains(body, c.says) || c.says == "" && body != "" {
			t.Errorf("%s %s: %d %q", c.method, c.path, status, body)
		}
		if c.digest != "" {
			same(t, c.method+" "+c.path, b.last(), []any{"Beat", c.digest, c.call})
		} else if b.seen["Beat"] != 0 {
			t.Errorf("%s %s counted", c.method, c.path)
		}
	}
	b.when("Beat", func(context.Context, []any) (any, error) {
		return nil, core.Errorf(core.NotFound, "no heartbeat has this key")
	})
	if status, _, body := b.raw(t, "GET", "/api/push/other", "", "Authorization", ""); status != 404 || !strings.Contains(body, `"ok":false`) {
		t.Errorf("an unknown token: %d %q", status, body)
	}
	if status, _, _ := b.raw(t, "GET", "/beat/"+push, "", "Authorization", ""); status != 404 {
		t.Errorf("a digest is no key: %d", status)
	}
}
