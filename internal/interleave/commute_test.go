package interleave

import (
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store/postgres"
)

// Two steps commute if neither touches a table that the other writes: in either order they see and leave the same, and neither
// waits for the other. A switch after a step that commutes with all that the other actor does is the same as one before it, so
// one of the two is enough. In the literature this is a partial-order reduction with persistent sets (Godefroid, 1996).

var (
	tables   = regexp.MustCompile(`\bbelfry\.(\w+)|(advisory)_`)
	writes   = regexp.MustCompile(`(?i)\b(insert|update|delete|merge|truncate|lock|share|nextval|setval)\b|_advisory_`)
	begun    = regexp.MustCompile(`(?i)(^.: |; )begin\b`)
	ended    = regexp.MustCompile(`(?i)(^.: |; )(commit|rollback)\b`)
	snapshot = regexp.MustCompile(`(?i)\b(repeatable read|serializable)\b`)
)

// behind are the tables that views and functions of the schema read.
var behind = map[string][]string{
	"packed":   {"packs", "jobs"},
	"running":  {"leases", "packs", "jobs"},
	"live":     {"jobs", "leases", "packs"},
	"unleased": {"leases", "packs"},
}

// touched returns what each table is touched for by steps: true if they may write it.
func touched(steps []string) map[string]bool {
	all := map[string]bool{}
	for _, step := range steps {
		writing := writes.MatchString(step)
		for _, m := range tables.FindAllStringSubmatch(step, -1) {
			for _, table := range append(behind[m[1]], m[1]+m[2]) {
				all[table] = all[table] || writing
			}
		}
	}
	return all
}

// commutes reports whether the last of the steps of an actor commutes with all steps of another. The end of a transaction makes
// visible what it wrote, and frees what it locked.
func commutes(steps, other []string) bool {
	last := len(steps) - 1
	from := last
	for from > 0 && !begun.MatchString(steps[from]) {
		from--
	}
	transaction := steps[from:]
	if slices.ContainsFunc(transaction, snapshot.MatchString) {
		return false // its first step decides what all others see
	}
	if !ended.MatchString(steps[last]) {
		transaction = steps[last:]
	}
	others := touched(other)
	for table, wrote := range touched(transaction) {
		if byOther, is := others[table]; is && (wrote || byOther) {
			return false
		}
	}
	return true
}

func TestStepsThatCommute(t *testing.T) {
	t.Parallel()
	claim := []string{"B: begin", "B: select id from belfry.jobs for update skip locked", "B: insert into belfry.leases values ($1)", "B: commit"}
	for _, c := range []struct {
		name  string
		steps []string
		other []string
		want  bool
	}{
		{"a begin", []string{"A: begin; select 1"}, claim, true},
		{"a read of what the other only reads", []string{"A: begin", "A: select name from belfry.tasks"}, []string{"B: select 1 from belfry.tasks"}, true},
		{"a read of what the other writes", []string{"A: begin", "A: select number from belfry.leases"}, claim, false},
		{"a read of a view of what the other writes", []string{"A: begin", "A: select number from belfry.running"}, claim, false},
		{"a write of what the other reads", []string{"A: begin", "A: update belfry.tasks set name = $1"}, []string{"B: select 1 from belfry.tasks"}, false},
		{"a lock of what the other locks", []string{"A: begin", "A: select id from belfry.jobs for no key update"}, claim, false},
		{"a read, after a write of what the other reads", []string{"A: begin", "A: delete from belfry.jobs", "A: select 1 from belfry.tasks"}, claim, true},
		{"the commit of that", []string{"A: begin", "A: delete from belfry.jobs", "A: select 1 from belfry.tasks", "A: commit"}, claim, false},
		{"the end of a batch with that", []string{"A: begin", "A: delete from belfry.jobs; commit"}, claim, false},
		{"the commit of another transaction", []string{"A: begin", "A: delete from belfry.jobs", "A: commit", "A: begin", "A: select 1 from belfry.tasks", "A: commit"}, claim, true},
		{"a snapshot", []string{"A: begin isolation level repeatable read", "A: select 1 from belfry.tasks"}, claim, false},
		{"the same advisory lock", []string{"A: select pg_advisory_xact_lock(1)"}, []string{"B: select pg_try_advisory_xact_lock(1)"}, false},
	} {
		if got := commutes(c.steps, c.other); got != c.want {
			t.Errorf("%s commutes: got %t, want %t", c.name, got, c.want)
		}
	}
}

// A table that nothing is known to touch would commute with everything.
func TestCommutingKnowsTheSchema(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.Migrated(t, postgres.Migrate))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // a connection without a transaction
	query := func(sql string) []string {
		rows, err := conn.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, name := range query(`
		select relname from pg_class where relnamespace = 'belfry'::regnamespace and relkind in ('v', 'm')
		union all select proname from pg_proc where pronamespace = 'belfry'::regnamespace`) {
		if behind[name] == nil {
			t.Errorf("belfry.%s is a view or a function: add to behind which tables it reads", name)
		}
	}
	for _, what := range query(`
		select 'trigger ' || tgname from pg_trigger where not tgisinternal
		union all select 'foreign key ' || conname from pg_constraint where contype = 'f'
		union all select 'rule ' || rulename from pg_rules where schemaname = 'belfry'`) {
		t.Errorf("%s: statements touch tables that they do not name: teach commutes", what)
	}
}
