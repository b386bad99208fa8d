//go:build linux

package s3test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

// TestAProgramIsPushedRunAndItsFilesFetchedThroughABucket goes the whole way
// with the built program: the server alone has the credentials of the bucket,
// and every byte goes by links that it signed.
func TestAProgramIsPushedRunAndItsFilesFetchedThroughABucket(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	visitor := p.build("visitor", "./internal/e2e/testdata/visitor")
	bucket := newBucket(t)
	public := strings.Replace(gateway.endpoint, "127.0.0.1", "localhost", 1)

	own := []string{"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull}
	said := p.start(own, `(?m)^  api +(http://\S+)$`, "serve", "--database", "sqlite:belfry.db", "--listen", "127.0.0.1:0", "--roles", "api,engine",
		"--artifacts", "s3://"+bucket+"/belfry?region="+region+"&endpoint="+gateway.endpoint+"&public_endpoint="+public)
	p.env = append(p.env, "BELFRY_SERVER="+said[1])

	p.run("program", "push", visitor, "--name", "report", "--", "mark", "report")
	must(t, os.WriteFile(filepath.Join(p.dir, "worker.token"), []byte(p.run("token", "create", "far", "--scope", "worker", "--for", "*")), 0o600))
	p.start([]string{"BELFRY_STATE_DIR=" + p.state(), "BELFRY_REFUSE_PROGRAMS=false"}, `worker serves`,
		"worker", "--server", said[1], "--token-file", "worker.token", "--name", "far")
	p.run("job", "enqueue", "report", "--wait")
	id := regexp.MustCompile(`(?m)^(\d+) `).FindStringSubmatch(p.run("job", "list", "--task", "report"))
	if id == nil {
		t.Fatal(p.run("job", "list"))
	}
	p.run("job", "outputs", id[1], "--download", "results")

	kept := map[string]string{"belfry/default/sha256/" + digestOf(t, visitor): "the program"}
	for _, file := range []string{"report.txt", "parts/one.txt"} {
		got, err := os.ReadFile(filepath.Join(p.dir, "results", file))
		if must(t, err); string(got) != "this is "+file+"\n" {
			t.Errorf("%s came back as %q", file, got)
		}
		kept["belfry/default/sha256/"+digestOf(t, filepath.Join(p.dir, "results", file))] = file
	}
	objects, err := gateway.client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
	must(t, err)
	for _, o := range objects.Contents {
		if kept[*o.Key] == "" {
			t.Errorf("%s is in the bucket", *o.Key)
		}
		delete(kept, *o.Key)
	}
	if len(kept) > 0 {
		t.Errorf("not in the bucket: %v", kept)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "artifacts")); err == nil {
		t.Error("the server keeps bytes in a folder beside the bucket")
	}
}

func digestOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// person has a folder, the built program, and nothing of this process's
// environment but where programs are.
type person struct {
	*testing.T
	dir, belfry string
	env         []string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{T: t, dir: t.TempDir()}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "XDG_CONFIG_HOME=" + filepath.Join(p.dir, ".config"), "TMPDIR=" + p.dir,
		"BELFRY_REFUSE_PROGRAMS=true", "BELFRY_STATE_DIR=" + filepath.Join(p.dir, "state")}
	p.belfry = p.build("belfry", "./cmd/belfry")
	return p
}

// root is the folder of the workspace. The gateway changes to another folder
// when it starts.
var root, _ = filepath.Abs(filepath.Join("..", "..", ".."))

// build builds a command of the workspace.
func (p *person) build(name, command string) string {
	p.Helper()
	file := filepath.Join(p.dir, name)
	build := exec.Command("go", "build", "-ldflags=-s", "-o", file, command)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		p.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return file
}

// state is a folder in which programs run that may have users of their own.
func (p *person) state() string {
	p.Helper()
	dir, err := os.MkdirTemp("", "belfry-s3-state-")
	must(p.T, err)
	must(p.T, os.Chmod(dir, 0o711)) //nolint:gosec // they pass through
	p.Cleanup(func() { must(p.T, scratch.Remove(dir)) })
	return dir
}

func (p *person) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), p.belfry, args...)
	cmd.Dir, cmd.Env = p.dir, slices.Concat(p.env, env)
	return cmd
}

// run runs one command line that must succeed, and answers what it says.
func (p *person) run(args ...string) string {
	p.Helper()
	cmd := p.command(nil, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("belfry %s: %v\n%s%s", strings.Join(args, " "), err, out, complaint.String())
	}
	return string(out)
}

// start starts one that goes on until the test ends, and waits until it says
// something.
func (p *person) start(env []string, pattern string, args ...string) []string {
	p.Helper()
	cmd := p.command(env, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	must(p.T, err)
	cmd.Stderr = cmd.Stdout
	must(p.T, cmd.Start())
	p.Cleanup(func() { _ = cmd.Wait() }) // after the end of the context, which asks for it
	var said strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		_, _ = fmt.Fprintln(&said, lines.Text())
		if found := regexp.MustCompile(pattern).FindStringSubmatch(said.String()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return found
		}
	}
	p.Fatalf("belfry %s ended and never said %s:\n%s", args[0], pattern, said.String())
	return nil
}
