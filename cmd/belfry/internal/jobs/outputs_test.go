package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// leftover is a server that says of a job's files what it is told to.
type leftover struct{ httpapi.Service }

func (l leftover) OutputLink(_ context.Context, _ string, _ int64, name string, _ int64) (task.SignedRequest, error) {
	return task.SignedRequest{Method: http.MethodGet, URL: "/" + name}, nil
}

func outputNamed(name, content string, lease int64) task.JobOutput {
	sum := sha256.Sum256([]byte(content))
	return task.JobOutput{JobID: 1, Lease: lease, Output: task.Output{Name: name, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}}
}

func TestDownloadsStayBelowTheirFolder(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			http.NotFound(w, r)
		case "/moved":
			http.Redirect(w, r, "/report.csv", http.StatusFound)
		default:
			_, _ = w.Write([]byte("1,2,3"))
		}
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		name, content string // as the job left it; the server has 1,2,3
		says          string // empty: it is fetched
	}{
		{"report.csv", "1,2,3", ""},
		{"deep/er/report.csv", "1,2,3", ""},
		{"../report.csv", "1,2,3", "below a folder"},
		{"/etc/report.csv", "1,2,3", "below a folder"},
		{"a/../../report.csv", "1,2,3", "below a folder"},
		{"out/report.csv", "1,2,3", "cannot"},
		{"there", "1,2,3", "there already"},
		{"other", "1,2,4", "SHA-256"},
		{"shorter", "1,2", "more than the 3 bytes"},
		{"longer", "1,2,3,4", "ended after 5 of 7"},
		{"gone", "1,2,3", "404"},
		{"moved", "1,2,3", "302"},
	} {
		t.Run(strings.ReplaceAll(c.name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "results")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "there"), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			cmd := cli.New(nil, &out, &errs, nil)
			s := &cli.Conn{Service: leftover{}, Where: server.URL, Now: time.Now()}
			err := fetchOutputs(t.Context(), cmd, s, []task.JobOutput{outputNamed(c.name, c.content, 1)}, dir)
			if c.says == "" {
				got, _ := os.ReadFile(filepath.Join(dir, c.name))
				if err != nil || string(got) != c.content || !strings.Contains(out.String(), c.name) {
					t.Fatalf("%v, %q, %s", err, got, &out)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %q", err, c.says)
			}
			mine, _ := os.ReadFile(filepath.Join(dir, "there"))
			entries, _ := os.ReadDir(dir)
			strange, _ := os.ReadDir(outside)
			if string(mine) != "mine" || len(entries) != 2 || len(strange) != 0 {
				t.Errorf("left %q, %v, %v", mine, entries, strange)
			}
		})
	}
}

func TestAFileThatFailsTakesNoOthersWithIt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/gone") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("1,2,3"))
	}))
	t.Cleanup(server.Close)
	var files []task.JobOutput
	for _, name := range []string{"a", "gone-1", "b", "gone-2", "c"} {
		files = append(files, outputNamed(name, "1,2,3", 1))
	}
	var out, errs bytes.Buffer
	dir := t.TempDir()
	err := fetchOutputs(t.Context(), cli.New(nil, &out, &errs, nil), &cli.Conn{Service: leftover{}, Where: server.URL, Now: time.Now()}, files, dir)
	if err == nil || !strings.Contains(err.Error(), `output "gone-2"`) || !strings.Contains(errs.String(), `error: output "gone-1"`) {
		t.Errorf("%v, %s", err, &errs)
	}
	for _, name := range []string{"a", "b", "c"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != "1,2,3" || !strings.Contains(out.String(), filepath.Join(dir, name)+"  5 B\n") {
			t.Errorf("%s: %q, %v; %s", name, got, err, &out)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("left %v", left)
	}
}

func TestTheNewestFileOfANameIsFetched(t *testing.T) {
	t.Parallel()
	got := newestByName([]task.JobOutput{outputNamed("a", "1", 1), outputNamed("b", "1", 1), outputNamed("a", "2", 2)})
	if len(got) != 2 || got[0].Lease != 2 || got[1].Name != "b" {
		t.Errorf("%+v", got)
	}
	if _, err := ofAttempt(got, map[int64]int{1: 1, 2: 2}, 3); core.CodeOf(err) != core.Invalid {
		t.Error(err)
	}
	some, err := ofAttempt(got, map[int64]int{1: 1, 2: 2}, 2)
	if err != nil || len(some) != 1 || some[0].Name != "a" {
		t.Error(some, err)
	}
}

func TestShowTellsHowAProgramWasKeptApart(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := cli.New(nil, &out, &out, nil)
	drawJob(cmd, &out, job.Job{ID: 7, Infra: 1, Attempt: 2, MaxAttempts: 3}, []job.Attempt{
		{Number: 1, Outcome: job.OutcomeError, Error: "the machine is full"},
		{Number: 2, Outcome: job.OutcomeOK, Sandboxed: &task.Sandboxed{
			Isolation: task.IsolationUser, Layers: []string{"uid", "seccomp"}, Missing: []string{"memory: no control group"}, Network: "none", OOM: true,
			Usage:   task.Usage{Wall: core.Duration(1500 * time.Millisecond), User: core.Duration(time.Second), Memory: 3 << 20},
			Outputs: []task.Output{{Name: "report.csv", Size: 5}},
		}},
	}, time.Now())
	for _, want := range []string{"1 spoiled by the machine", "\nattempt 2\n", "user (uid, seccomp)", "memory: no control group", "none", "1.5 s, processor 1 s in its code and 0 s", "3 MiB", "the kernel killed", "report.csv  5 B"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "\nattempt 1\n") {
		t.Errorf("an attempt without a sandbox has a part of its own:\n%s", &out)
	}
}

// TestDownloadFromAStoreThatStalls ends by itself, whether the store begins an
// answer or not.
func TestDownloadFromAStoreThatStalls(t *testing.T) {
	t.Parallel()
	for _, peer := range []hostile.Peer{hostile.HTTP[0], {Name: "a body that never comes", Talk: func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096)) // a client refuses an answer to a request that it has not sent yet
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	}}} {
		store := hostile.Serve(t, peer)
		s := &cli.Conn{Service: leftover{}, Where: "http://" + store.Address, Now: time.Now(), Transfer: 300 * time.Millisecond}
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		err = fetchOutput(t.Context(), s, root, outputNamed("report.csv", "1,2,3", 1))
		if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "in time") {
			t.Errorf("%s: %v", peer.Name, err)
		}
		store.Closed(t, "download")
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}
}
