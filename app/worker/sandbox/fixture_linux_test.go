package sandbox_test

import (
	"bufio"
	"crypto/rand"
	_ "embed"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

//go:embed testdata/hostile.c
var source string

// compiled is the hostile program in C, next to the one in Go.
var compiled = sync.OnceValues(func() (string, error) {
	program := filepath.Join(filepath.Dir(hostile), "hostile-c")
	cc := exec.Command("cc", "-pthread", "-o", program, "-xc", "-")
	cc.Stdin = strings.NewReader(source)
	out, err := cc.CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return program, nil
})

func (w world) attackInC(t *testing.T, name, mark string) *attack {
	t.Helper()
	program, err := compiled()
	if err != nil {
		t.Fatalf("a C compiler is needed (apt-get install gcc libc6-dev): %v\n%s", err, program)
	}
	a := w.attack("")
	a.Argv = []string{program, name, mark}
	a.ReadOnly = append(a.ReadOnly, sandbox.Mount{Source: program})
	return a
}

// A filter that only knew the numbers of one table could be passed by another.
func TestForeignCallsKill(t *testing.T) {
	inEach(t, sandbox.Confined, func(t *testing.T, w world) {
		if r := w.attackInC(t, "int80", "").run(t, w); r.Signal != "SIGSYS" {
			t.Errorf("%+v", r)
		}
	})
}

// Ways in which processes hide from a search.
func TestHiddenProcessesAreKilledToo(t *testing.T) {
	for _, attack := range []string{"leader", "silent", "comet"} {
		t.Run(attack, func(t *testing.T) {
			inEach(t, sandbox.None, func(t *testing.T, w world) {
				mark := rand.Text()
				a := w.attackInC(t, attack, mark)
				out, in := io.Pipe()
				a.Stdout = in
				r := a.start(t, w)
				lines := bufio.NewReader(out)
				if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
					t.Errorf("%q %v", line, err)
				}
				go func() { _, _ = io.Copy(io.Discard, lines) }()
				if attack != "comet" { // which ends by itself, and leaves its tail
					r.Kill()
				}
				if _, err := r.Wait(); err != nil {
					t.Error(err)
				}
				if left := marked(mark); len(left) > 0 {
					t.Error("left:", left)
				}
				nothingIsLeft(t, w)
			})
		})
	}
}
