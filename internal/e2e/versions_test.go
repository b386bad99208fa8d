//go:build linux || darwin

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// later builds a future version of the program, with as many further migrations. The
// first expands: it adds a column that this version does not know. The second
// contracts: a node that does not know the first must stop.
func later(t testing.TB, migrations int) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{ .Dir }}", "github.com/belfry-run/belfry/store/postgres").Output()
	if err != nil {
		t.Fatalf("ask for the folder of store/postgres: %v", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(dir)), "migrations")
	files, err := os.ReadDir(folder)
	if err != nil || len(files) == 0 {
		t.Fatalf("list migrations: %v", err)
	}
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	last, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for i, sql := range []string{
		"alter table belfry.jobs add column weight bigint not null default 0;",
		fmt.Sprintf("truncate belfry.schema_floor;\ninsert into belfry.schema_floor (version) values (%d);", last+1),
	}[:migrations] {
		texts[filepath.Join(folder, fmt.Sprintf("%05d_later.sql", last+1+i))] = sql + "\n"
	}
	path, failed := buildOverlaid("later-"+strconv.Itoa(migrations), texts)
	if failed != "" {
		t.Fatal(failed)
	}
	return path
}

// stream enqueues jobs until its end, each job once, through any node that answers.
type stream struct {
	stop func()
	ids  []int64 // valid after stop
}

func (s *site) stream(task string, nodes ...*node) *stream {
	ctx, cancel := context.WithCancel(s.t.Context())
	l := &stream{}
	var done sync.WaitGroup
	done.Go(func() {
		next := time.NewTicker(25 * time.Millisecond)
		defer next.Stop()
		for i := 0; ; i++ {
			<-next.C
			for try := 0; ; try++ {
				made, err := nodes[(i+try)%len(nodes)].api.Enqueue(ctx, []job.NewJob{{Task: task, Key: nodes[0].name + "-" + strconv.Itoa(i)}})
				if ctx.Err() != nil {
					return
				}
				if err == nil {
					l.ids = append(l.ids, made[0].Job.ID)
					break
				}
			}
		}
	})
	l.stop = func() { cancel(); done.Wait() }
	s.t.Cleanup(l.stop)
	return l
}

// ran waits until a node has completed some more jobs.
func (n *node) ran(db *pgx.Conn, more int) {
	n.t.Helper()
	count := func() (ended int) {
		if err := db.QueryRow(n.t.Context(), "select count(*) from belfry.jobs_done where worker = $1", n.name).Scan(&ended); err != nil {
			n.t.Fatal(err)
		}
		return ended
	}
	want := count() + more
	eventually(n.t, patience, fmt.Sprintf("%s has ended %d jobs", n.name, want), func() (bool, string) {
		ended := count()
		return ended >= want, fmt.Sprint(ended)
	})
}

func (s *site) text(file string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, file))
	return string(text)
}

// Nodes of three versions share a database while they are replaced one by one. After
// a migration that only adds, older nodes keep working. A migration that raises the
// floor stops the nodes that are too old, and the jobs that they began are recorded.
func TestTwoVersionsAtOneDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.New(t))
	db := must[*pgx.Conn](t)(pgx.Connect(t.Context(), s.database))
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	expanded, contracted := later(t, 1), later(t, 2)
	serve := func(program string, flags ...string) *node {
		s.program = program
		return s.serve(append([]string{"--allow-commands", "--session-ttl", "10s"}, flags...)...)
	}
	first := serve("")
	s.run("queue", "create", "long")
	first.signal(syscall.SIGTERM)
	first.ended(patience)
	old1 := serve("")
	old2 := serve("", "--only-queues", "default")
	const noted = `echo "$BELFRY_JOB_ID $BELFRY_ATTEMPT" >> starts; `
	old1.shellTask("work", noted+"sleep 0.05", func(t *task.Task) { soon("work", t); t.Command.Dir = s.dir })
	old1.shellTask("long", noted+`while true; do echo . >> long; sleep 0.1; done`, func(t *task.Task) {
		soon("long", t)
		t.Queue, t.Command.Dir = "long", s.dir
	})

	before := s.stream("work", old1, old2)
	old1.ran(db, 10)
	old2.ran(db, 10)
	mid := serve(expanded, "--only-queues", "default")
	mid.ran(db, 10)
	old1.ran(db, 10)
	old2.ran(db, 10)
	readyWithin(t, old1.url, patience, 200)
	before.stop()

	after := s.stream("work", mid)
	old2.signal(syscall.SIGTERM)
	if code := old2.ended(patience); code != 0 {
		t.Errorf("exit code of a stopped node: got %d", code)
	}
	held := old1.enqueue("long")
	eventually(t, patience, "the long command runs", func() (bool, string) { return s.text("long") != "", "" })

	fresh := serve(contracted, "--only-queues", "default")
	if code := old1.ended(patience); code != 4 {
		t.Errorf("exit code of a node that is too old: got %d, want 4", code)
	}
	old1.logs(patience, `level=ERROR msg="this program is too old for its database and stops".*must be \d+ or newer`)
	left := s.text("long")
	mid.ran(db, 20)
	fresh.ran(db, 20)
	if s.text("long") != left {
		t.Error("the command of the old node still runs after the node's end")
	}
	s.program = ""
	refused := s.launchServe("--allow-commands")
	if code := refused.ended(patience); code != 4 {
		t.Errorf("exit code of the old program at its start: got %d, want 4", code)
	}
	after.stop()

	eventually(t, 2*patience, "what the old node ran is given up", func() (bool, string) {
		as := fresh.attempts(held.ID)
		return len(as) == 1 && as[0].Outcome == job.OutcomeLost, fmt.Sprint(outcomes(as))
	})
	ids := append(append([]int64{held.ID}, before.ids...), after.ids...)
	starts := s.lines("starts")
	for _, start := range starts { // a caller does not know a job whose answer was lost with its node
		var id int64
		if _, err := fmt.Sscan(start, &id); err != nil {
			t.Fatalf("%q: %v", start, err)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	recorded := map[string]bool{}
	for _, id := range ids {
		if id != held.ID {
			fresh.becomes(id, 2*patience, job.Succeeded)
		}
		for _, a := range fresh.attempts(id) {
			recorded[fmt.Sprintf("%d %d", id, a.Number)] = true
		}
	}
	seen := map[string]bool{}
	for _, start := range starts {
		if !recorded[start] {
			t.Errorf("job and attempt %s: started, but not recorded", start)
		}
		if seen[start] {
			t.Errorf("job and attempt %s: started twice", start)
		}
		seen[start] = true
	}
}
