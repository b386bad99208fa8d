package battery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/belfry-run/belfry/internal/portion"
)

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// hasty compiles the conformance suite in half of the time. It is compiled again for most faults, and runs one case then.
const hasty = "-gcflags=github.com/belfry-run/belfry/store/storetest=-N -l"

// Finding is what became of a planted fault.
type Finding struct {
	Fault Fault
	Test  Test
	// Found says that the test failed, as it must.
	Found bool
	// By is the test, or the case of it, that failed first.
	By string
	// Took is from the start of the test's build to its end.
	Took time.Duration
	// Output is what the go command said.
	Output string
}

// Run plants a fault and runs each of its tests. An error means that nothing is known: the fault does not fit the code
// any more, or does not build with it.
func Run(ctx context.Context, root string, f Fault) ([]Finding, error) {
	text, err := f.Plant(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "belfry-battery")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's folder for such things
	overlay, err := writeOverlay(dir, root, f.File, text)
	if err != nil {
		return nil, err
	}
	defer examples.forget(root, f.Tests)()
	var all []Finding
	for _, t := range f.Tests {
		began := time.Now()
		cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-ldflags=-s", hasty, "-count=1", "-failfast", "-timeout", "5m", "-overlay", overlay, "-run", t.Run, t.Package)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay), // for programs that the test builds
			portion.Env+"=") // the case that finds the fault may be in another portion
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		output := string(out)
		var exit *exec.ExitError
		switch {
		case err != nil && !errors.As(err, &exit):
			return nil, err
		case strings.Contains(output, "[build failed]"), strings.Contains(output, "[setup failed]"):
			return nil, fmt.Errorf("fault %s does not build:\n%s", f.Name, output)
		case strings.Contains(output, "[no tests to run]"):
			return nil, fmt.Errorf("fault %s: there is no test %s", f.Name, t)
		}
		one := Finding{Fault: f, Test: t, Found: err != nil, Took: time.Since(began), Output: output}
		for _, m := range failed.FindAllStringSubmatch(output, -1) {
			one.By = m[1] // a case stands behind its test
		}
		all = append(all, one)
	}
	return all, nil
}

func writeOverlay(dir, root, file, text string) (path string, err error) {
	planted := filepath.Join(dir, "planted.go")
	if err := os.WriteFile(planted, []byte(text), 0o600); err != nil {
		return "", err
	}
	at, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {at: planted}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
