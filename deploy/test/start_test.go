package deploy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// A fresh installation has no token and no shell to make one in. What the chart
// gives the server's container is given to the program here.
func TestAFreshInstallStarts(t *testing.T) {
	rendered, err := render(t, variants["default"])
	must(t, err)
	var server corev1.Container
	secret := map[string]string{}
	for _, doc := range documents(t, rendered) {
		switch o, _ := read(t, doc); o := o.(type) {
		case *appsv1.StatefulSet:
			server = o.Spec.Template.Spec.Containers[0]
		case *corev1.Secret:
			secret = o.StringData
		}
	}
	dir := t.TempDir()
	for key, text := range secret {
		must(t, os.WriteFile(filepath.Join(dir, key), []byte(text), 0o600))
	}
	program := filepath.Join(dir, "belfry")
	build := exec.Command("go", "build", "-ldflags=-s", "-o", program, "./cmd/belfry")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=") // the program is of the workspace, this test is not
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	here := strings.NewReplacer("/run/belfry/", dir+"/", "/var/lib/belfry/", dir+"/")
	env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	for _, e := range server.Env {
		env = append(env, e.Name+"="+here.Replace(e.Value))
	}
	var args []string
	for _, a := range server.Args {
		args = append(args, strings.Replace(a, ":7420", ":0", 1)) // all addresses, as in the pod
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "--output", "json")...)
	cmd.Env, cmd.Stderr, cmd.Dir = env, os.Stderr, dir
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }()

	var ready struct {
		URL string `json:"url"`
	}
	line, err := bufio.NewReader(out).ReadString('}')
	must(t, err)
	must(t, json.Unmarshal([]byte(line), &ready))
	url := strings.NewReplacer("[::]", "127.0.0.1", "0.0.0.0", "127.0.0.1").Replace(ready.URL)
	for path, tc := range map[string]struct {
		token string
		want  int
	}{
		"/readyz":   {"", http.StatusOK},
		"/v1/tasks": {secret["admin-token"], http.StatusOK},
		"/v1/audit": {secret["worker-token"], http.StatusForbidden}, // it is known, and may not
		"/v1/jobs":  {"belfry_" + strings.Repeat("x", 48), http.StatusUnauthorized},
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		must(t, err)
		if tc.token != "" {
			req.Header.Set("Authorization", "Bearer "+tc.token)
		}
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		must(t, resp.Body.Close())
		if resp.StatusCode != tc.want {
			t.Errorf("%s answers %d, want %d", path, resp.StatusCode, tc.want)
		}
	}
}
