package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// artifactOf is bytes of a program, more than a body of the API may have, and
// what they are called by.
func artifactOf(fill byte) ([]byte, task.Artifact) {
	body := bytes.Repeat([]byte{fill}, 9<<20)
	sum := sha256.Sum256(body)
	return body, task.Artifact{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(body))}
}

func TestAProgramIsUploadedAndFetchedByLinksAlone(t *testing.T) {
	t.Parallel()
	o := options(t)
	a := start(t, o)
	c, ctx := dial(t, a), within(t)
	body, art := artifactOf('a')
	web := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(web.CloseIdleConnections)

	tk, err := c.CreateTask(ctx, task.Task{Name: "p", Program: &task.Program{SHA256: art.SHA256, Size: art.Size, Secrets: map[string]string{"KEY": "key"}}})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := c.Enqueue(ctx, []job.NewJob{{Task: tk.Name}})
	if err != nil || jobs[0].Job.State != job.Waiting {
		t.Fatalf("%+v %v", jobs, err)
	}
	up, err := c.CreateArtifact(ctx, art)
	if err != nil || up.Link == nil {
		t.Fatalf("%+v %v", up, err)
	}
	link, err := signed.At(a.URL(), *up.Link)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ConfirmArtifact(ctx, "default", art.SHA256); core.CodeOf(err) != core.Conflict {
		t.Fatalf("confirmed before it was sent: %v", err)
	}
	other := link
	other.URL = strings.Replace(link.URL, art.SHA256, strings.Repeat("ab", 32), 1)
	// What is refused may close the connection under its own answer, so any error
	// will do.
	if err := signed.Send(ctx, web, other, bytes.NewReader(body)); err == nil {
		t.Fatal("took other bytes by this link")
	}
	wrong, _ := artifactOf('b')
	if err := signed.Send(ctx, web, link, bytes.NewReader(wrong)); err == nil {
		t.Fatal("took wrong bytes")
	}
	if _, err := c.ConfirmArtifact(ctx, "default", art.SHA256); core.CodeOf(err) != core.Conflict {
		t.Fatalf("confirmed after wrong bytes: %v", err)
	}
	if err := signed.Send(ctx, web, link, bytes.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ConfirmArtifact(ctx, "default", art.SHA256); err != nil {
		t.Fatal(err)
	}
	if again, err := c.CreateArtifact(ctx, art); err != nil || again.Link != nil {
		t.Fatalf("sent twice: %+v %v", again, err)
	}

	if _, err := c.SetSecret(ctx, "default", "key", "hunter2"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetSecret(ctx, "default", "key", "hunter2\x00"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("%v", err)
	}
	s, err := c.OpenSession(ctx, job.WorkerInfo{
		Name: "w", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 1},
		Has: task.Has{OS: "linux", Arch: "amd64", Isolation: task.IsolationGVisor},
	})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := c.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
	if err != nil || len(claim.Jobs) != 1 || claim.Jobs[0].Artifact == nil || claim.Jobs[0].Secrets["KEY"] != "hunter2" {
		t.Fatalf("%+v %v", claim, err)
	}
	get, err := signed.At(a.URL(), *claim.Jobs[0].Artifact)
	if err != nil {
		t.Fatal(err)
	}
	r, err := signed.Request(ctx, get, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || !bytes.Equal(got, body) {
		t.Fatalf("%d bytes, %s, %v", len(got), answer.Status, err)
	}
	if err := c.CloseSession(ctx, s.ID); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(o.Database)
	if info, err := os.Stat(filepath.Join(dir, "belfry.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "artifacts", "default", "sha256", art.SHA256[:2], art.SHA256)); err != nil {
		t.Error(err)
	}
}

func TestOnPostgreSQLArtifactsAndTheKeyHaveToBeNamed(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Database = pgtest.New(t)
	o.TokenFile = filepath.Join(t.TempDir(), "token")
	a := start(t, o)
	c, ctx := dial(t, a), within(t)
	_, art := artifactOf('a')
	for what, try := range map[string]func() error{
		"artifacts":     func() error { _, err := c.CreateArtifact(ctx, art); return err },
		"seal_key_file": func() error { _, err := c.SetSecret(ctx, "default", "s", "v"); return err },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v does not say %s", err, what)
		}
	}
	if _, err := c.CreateTask(ctx, task.Task{Name: "p", Program: &task.Program{SHA256: art.SHA256, Size: art.Size}}); err != nil {
		t.Errorf("a task may come before its artifact: %v", err)
	}
}
