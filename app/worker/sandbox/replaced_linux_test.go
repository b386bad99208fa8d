package sandbox_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// Upgrades of the machine replace files that programs see, such as /etc/ld.so.cache, while programs start. The file is
// replaced less often than a setup is repeated, at times that often lie between its opening and its mount.
func TestAFileThatIsReplacedWhileAProgramStarts(t *testing.T) {
	inEach(t, sandbox.Namespaces, func(t *testing.T, w world) {
		file := filepath.Join(public(t), "cache")
		replace := func() {
			err := os.WriteFile(file+"~", []byte("new\n"), 0o644)
			if err == nil {
				err = os.Rename(file+"~", file)
			}
			if err != nil {
				t.Error(err)
			}
		}
		replace()
		for range 20 {
			var replaced sync.WaitGroup
			replaced.Go(func() {
				for range 4 {
					time.Sleep(rand.N(4 * time.Millisecond))
					replace()
				}
			})
			a := w.attack("echo")
			a.ReadOnly = append(a.ReadOnly, sandbox.Mount{Source: file})
			a.Argv, a.Stdin = []string{"/bin/cat", file, "-"}, strings.NewReader("input\n")
			a.run(t, w)
			if got := a.out.String(); got != "new\ninput\n" {
				t.Errorf("got %q", got)
			}
			replaced.Wait()
		}
	})
}
