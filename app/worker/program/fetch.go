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

// fetchRequest is the order for the child that fetches. Without a link, the bytes
// follow on its standard input.
type fetchRequest struct {
	Link   *task.SignedRequest `json:"link,omitempty"`
	Digest string              `json:"digest"`
	Size   int64               `json:"size"`
	Into   string              `json:"into"` // target file, in a folder of the worker
	CAFile string              `json:"ca_file,omitempty"`
}

// fetchResponse is the answer of the child.
type fetchResponse struct {
	Error string `json:"error,omitempty"`
	// Other reports that the bytes do not match the digest.
	Other bool `json:"other,omitempty"`
	// Final reports that a retry would not help.
	Final bool `json:"final,omitempty"`
}

// Number of tries of a fetch, and the pauses between them.
const (
	fetchTries = 3
	fetchPause = 250 * time.Millisecond // doubled after each try
)

// fetch puts an artifact at a path. A child process writes the file: if this
// process had it open for writing, each process started meanwhile would inherit
// that, and the file could not be executed. Also, the process that uses the
// network does not share the worker's memory.
func (e *Executor) fetch(ctx context.Context, r *worker.Run, into string) (err error) {
	g := r.Task.Program
	var answer fetchResponse
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

func (e *Executor) fetchOnce(ctx context.Context, r *worker.Run, into string) (fetchResponse, error) {
	g := r.Task.Program
	o := fetchRequest{Digest: g.SHA256, Size: g.Size, Into: into, CAFile: e.options.CAFile}
	var bytesOf io.Reader = strings.NewReader("")
	switch {
	case e.options.Source != nil:
		content, err := e.options.Source.Open(ctx, r.Job.Namespace+"/"+g.SHA256)
		if err != nil {
			return fetchResponse{Error: err.Error(), Final: core.CodeOf(err) == core.NotFound}, nil
		}
		defer func() { _ = content.Close() }() // only read
		bytesOf = io.LimitReader(content, g.Size+1)
	case r.Artifact == nil:
		return fetchResponse{}, unable("the server gave no link to the artifact")
	default:
		link, err := signed.At(e.options.Server, *r.Artifact)
		if err != nil {
			return fetchResponse{}, unable("%v", err)
		}
		o.Link = &link
	}
	text, err := json.Marshal(o)
	if err != nil {
		return fetchResponse{}, err
	}
	return runChild(ctx, io.MultiReader(bytes.NewReader(append(text, '\n')), bytesOf))
}

// runChild starts the child and reads its answer. The child ends with this
// process, and with the context.
func runChild(ctx context.Context, in io.Reader) (answer fetchResponse, err error) {
	// The kernel kills the child when the thread that started it ends.
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
	return fetchResponse{Error: fmt.Sprintf("the process that fetches it ended: %v %s", err, text)}, nil
}

// passedOn returns the part of the worker's environment for the child: settings
// of proxies and of trusted authorities.
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
// shares the state folder. If programs are not isolated from the cache, nothing
// is cached, and Prefetch only checks that the artifact can be fetched.
func (e *Executor) Prefetch(ctx context.Context, j job.LeasedJob) error {
	r := &worker.Run{Job: &j.Job, Task: j.Task, Artifact: j.Artifact, Secrets: j.Secrets}
	if err := e.accepts(r); err != nil {
		return err
	}
	// The temporary folder, like that of a run, also removes the leftovers of an
	// interrupted fetch.
	f := &folder{dir: filepath.Join(e.home.Dir, fmt.Sprintf("prefetch-%d", e.runs.Add(1)))}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return unable("a folder for the artifact cannot be made: %v", err)
	}
	g := j.Task.Program
	err := e.cache.place(ctx, g.SHA256, g.Size, f.program(), func() error { return e.fetch(ctx, r, f.program()) })
	return errors.Join(err, clearFolder(f.dir))
}
