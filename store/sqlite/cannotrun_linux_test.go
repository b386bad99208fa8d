package sqlite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

// The cost is the bytes that the process reads: the jobs do not fit into the
// memory that a connection keeps pages in. It is not parallel to others, which
// read too.
func TestCannotRun(t *testing.T) { //nolint:paralleltest // see above
	path := file(t)
	open := func() *store.Store {
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	read := func() (n int64) {
		text, err := os.ReadFile("/proc/self/io")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, err := fmt.Sscanf(line, "rchar: %d", &n); err == nil {
				return n
			}
		}
		t.Fatalf("no count of bytes in %s", text)
		return 0
	}
	storetest.CannotRun(t, open, 200_000, 2_000_000, read, func(n int) string {
		return fmt.Sprintf("(with recursive up (n) as (select 1 union all select n + 1 from up where n < %d) select n from up)", n)
	})
}
