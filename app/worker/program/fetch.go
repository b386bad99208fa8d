package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// order is what the child that fetches is told. Without a link the bytes follow
// on its standard input.
type order struct {
	Link   *task.SignedRequest `json:"link,omitempty"`
	Digest string              `json:"digest"`
	Size   int64               `json:"size"`
	Into   string              `json:"into"` // where they are to be, in a folder of the worker's
}

// fetched is what it answers.
type fetched struct {
	Error string `json:"error,omitempty"`
	// Other tells that these are other bytes than they should be.
	Other bool `json:"other,omitempty"`
	// Final tells that to ask again is in vain.
	Final bool `json:"final,omitempty"`
}

// How often a fetch is tried, and with what pauses.
const (
	fetchTries = 3
	fetchPause = 250 * time.Millisecond // doubled for each
)

// fetch puts an artifact at a name. The file is written by a child process:
// what this one has open for writing would be so in every process that it
// starts at the time, and such a file cannot be executed. Nothing that talks to
// the network has the worker's memory, either.
func (e *Executor) fetch(ctx context.Context, r *worker.Run, into string) (err error) {
	g := r.Task.Program
	var answer fetched
	for try := range fetchTries {
		if try > 0 && pause(ctx, fetchPause<<try) != nil {
			break
		}
		if answer, err = e.fetchOnce(ctx, r, into); err != nil {
			return err
		}
		if answer.Error == "" {
			return nil
		}
		if answer.Final {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return unable("the artifact was not fetched in time: %v", ctx.Err())
	case answer.Other:
		return unfit("the artifact is not what was uploaded: %s; upload the program again", answer.Error)
	}
	return unable("the artifact %.12s cannot be fetched: %s", g.SHA256, answer.Error)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Executor) fetchOnce(ctx context.Context, r *worker.Run, into string) (fetched, error) {
	g := r.Task.Program
	o := order{Digest: g.SHA256, Size: g.Size, Into: into}
	var bytesOf io.Reader = strings.NewReader("")
	switch {
	case e.options.Source != nil:
		content, err := e.options.Source.Open(ctx, r.Job.Namespace+"/"+g.SHA256)
		if err != nil {
			return fetched{Error: err.Error(), Final: core.CodeOf(err) == core.NotFound}, nil
		}
		defer func() { _ = content.Close() }() // only read
		bytesOf = io.LimitReader(content, g.Size+1)
	case r.Artifact == nil:
		return fetched{}, unable("the server gave no link to the artifact")
	default:
		link, err := signed.At(e.options.Server, *r.Artifact)
		if err != nil {
			return fetched{}, unable("%v", err)
		}
		o.Link = &link
	}
	text, err := json.Marshal(o)
	if err != nil {
		return fetched{}, err
	}
	return runChild(ctx, io.MultiReader(bytes.NewReader(append(text, '\n')), bytesOf))
}

// runChild starts the child and reads its answer. It ends with this process,
// and with the context.
func runChild(ctx context.Context, in io.Reader) (answer fetched, err error) {
	// The kernel's promise to kill it when its parent dies is made to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return answer, unable("this program does not find itself: %v", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{fetchName}
	cmd.Path = selfPath(self)
	cmd.Env = passedOn()
	cmd.Dir = "/"
	cmd.Stdin = in
	cmd.SysProcAttr = childAttr()
	cmd.WaitDelay = 5 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	if json.Unmarshal(out.Bytes(), &answer) == nil {
		return answer, nil
	}
	if err == nil {
		err = errors.New("no answer")
	}
	text, _ := core.CleanText(said.String(), 500)
	return fetched{Error: fmt.Sprintf("the process that fetches it ended: %v %s", err, text)}, nil
}

// passedOn is what the child has of the worker's environment: how to reach the
// network, and whom to trust.
func passedOn() (env []string) {
	for _, name := range []string{
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG", "TZ",
	} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Prefetch puts the artifact of a job into the cache, for an executor that
// shares the state folder. Where programs are not kept apart from it, nothing is
// cached, and this only finds out that the artifact can be had.
func (e *Executor) Prefetch(ctx context.Context, j job.LeasedJob) error {
	r := &worker.Run{Job: &j.Job, Task: j.Task, Artifact: j.Artifact, Secrets: j.Secrets}
	if err := e.accepts(r); err != nil {
		return err
	}
	// A folder, like that of a run, so that what a fetch leaves which is broken
	// off goes with it.
	f := &folder{dir: filepath.Join(e.home.Dir, fmt.Sprintf("prefetch-%d", e.runs.Add(1)))}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return unable("a folder for the artifact cannot be made: %v", err)
	}
	g := j.Task.Program
	err := e.cache.place(ctx, g.SHA256, g.Size, f.program(), func() error { return e.fetch(ctx, r, f.program()) })
	return errors.Join(err, clearFolder(f.dir))
}
