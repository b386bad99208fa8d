//go:build linux || darwin

package e2e

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite

	"github.com/belfry-run/belfry/core"
)

// contents returns everything that a refused input must not change.
func (n *node) contents() string {
	n.t.Helper()
	n.logs(patience, "worker serves") // the worker makes the task of the canary
	token := n.site.token()
	text := ""
	for _, path := range []string{"/v1/export", "/v1/jobs", "/v1/schedules", "/v1/tasks", "/v1/queues", "/v1/audit"} {
		a := get(n.t, n.url+path, token)
		if a.StatusCode != 200 {
			n.t.Fatalf("%s answers %d: %s", path, a.StatusCode, a.Body)
		}
		text += path + "\n" + a.Body
	}
	return text
}

// unharmed fails if an input was partly applied or the node has ended.
func (n *node) unharmed(before string) {
	n.t.Helper()
	if after := n.contents(); after != before {
		n.t.Errorf("state after refused input: got\n%s\nwant\n%s", after, before)
	}
	if !n.running() {
		n.t.Fatal("the node has ended")
	}
}

// long40 is a manifest with a mistake on line 40.
func long40(mistake string) string {
	text := "tasks:\n"
	for i := range 12 {
		text += fmt.Sprintf("  - name: task-%d\n    command:\n      shell: \"true\"\n", i)
	}
	return text + "  - name: last\n    command: {shell: \"true\"}\n" + mistake + "\n"
}

func TestBadInputOnTheCommandLine(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := s.serve("--allow-commands")
		n.shellTask("a", "true")
		s.run("schedule", "create", "kept", "--task", "a", "--cron", "0 3 1 1 *")
		file := func(text string) string { return s.write("bad.yaml", text) }
		before := n.contents()
		for _, c := range []struct {
			name string
			args []string
			code int
			says []string
		}{
			{"a kind that does not exist", []string{"task", "create", "b", "--kind", "teleport"}, 2, []string{`kind "teleport"`, "one of command, cycle, dns, domain, func"}},
			{"a queue that does not exist", []string{"task", "create", "b", "--shell", "true", "--queue", "nowhere"}, 2, []string{`queue "nowhere"`, "belfry queue create nowhere"}},
			{"a queue of a job that does not exist", []string{"job", "enqueue", "a", "--queue", "nowhere"}, 2, []string{`queue "nowhere"`, "belfry queue create nowhere"}},
			{"a zone that does not exist", []string{"schedule", "create", "b", "--task", "a", "--cron", "@daily", "--zone", "Europe/Sofa"}, 2, []string{`zone "Europe/Sofa"`, "Europe/Sofia"}},
			{"a task that does not exist", []string{"schedule", "create", "b", "--task", "nothing", "--every", "5s"}, 2, []string{`task "nothing"`}},
			{"a job of a task that does not exist", []string{"job", "enqueue", "nothing"}, 3, []string{`nothing`, "^try: "}},
			{"a cron rule out of range", []string{"schedule", "create", "b", "--task", "a", "--cron", "61 * * * *"}, 2, []string{`rules\[0\].cron "61 \* \* \* \*"`}},
			{"a cron rule that never matches", []string{"schedule", "create", "b", "--task", "a", "--cron", "0 0 31 2 *"}, 2, []string{`rules\[0\].cron|rules `, "never"}},
			{"a time that has passed", []string{"schedule", "create", "b", "--task", "a", "--at", "2001-01-01 00:00"}, 2, []string{"never match after", "check dates"}},
			{"an end that has passed", []string{"schedule", "create", "b", "--task", "a", "--every", "5s", "--end", "2001-01-01"}, 2, []string{"end .*has passed"}},
			{"a job for a time that has passed", []string{"job", "enqueue", "a", "--at", "2001-01-01"}, 2, []string{"due_at .*has passed", "leave it out"}},
			{"a negative interval", []string{"schedule", "create", "b", "--task", "a", "--every=-5s"}, 2, []string{`--every "-5s": is no time between two runs`}},
			{"an interval below the least", []string{"schedule", "create", "b", "--task", "a", "--every", "1ms"}, 2, []string{`rules\[0\].every "1ms": is outside 1s to `}},
			{"a huge interval", []string{"schedule", "create", "b", "--task", "a", "--every", "2000000h"}, 2, []string{`rules\[0\].every .*is outside 1s to `}},
			{"an interval beyond all numbers", []string{"schedule", "create", "b", "--task", "a", "--every", "99999999999999999999h"}, 2, []string{`--every`, "is longer than the 106751 days"}},
			{"an interval beyond all numbers, in weeks", []string{"schedule", "create", "b", "--task", "a", "--every", "60000w"}, 2, []string{`every`, "is longer than the 106751 days"}},
			{"an interval without a unit", []string{"schedule", "create", "b", "--task", "a", "--every", "5"}, 2, []string{"has no unit"}},
			{"a negative delay", []string{"job", "enqueue", "a", "--delay=-1h"}, 2, []string{`delay "-1h": is outside`}},
			{"a huge timeout", []string{"task", "create", "b", "--shell", "true", "--timeout", "9000d"}, 2, []string{`timeout "9000d": is outside 10ms to 7d`}},
			{"no program at all", []string{"task", "create", "b", "--kind", "command"}, 2, []string{"command", "missing"}},
			{"input that is not JSON", []string{"job", "enqueue", "a", "--input", "{"}, 2, []string{"is not JSON"}},
			{"a name that is none", []string{"task", "create", "b/../c", "--shell", "true"}, 2, []string{`name "b/../c"`}},
			{"a name that exists", []string{"task", "create", "a", "--shell", "true"}, 4, []string{"^error: .*a", "^try: "}},
			{"a job that does not exist", []string{"job", "show", "4711"}, 3, []string{"4711"}},
			{"an unknown field in a file", []string{"apply", "-f", file("tasks:\n  - name: fine\n    command: {shell: \"true\"}\n    timout: 5m\n")}, 2, []string{`bad.yaml:4:5: tasks\[0\].timout: is not a known key \(did you mean timeout\?\)`}},
			{"a token that is unknown", []string{"job", "list", "--token", "belfry_unknown"}, 5, []string{"^error: the token is unknown", "^try: "}},
			{"a file that does not exist", []string{"apply", "-f", "nowhere.yaml"}, 2, []string{"nowhere.yaml.*does not exist"}},
			{"a missing argument", []string{"token", "create"}, 2, []string{"NAME: is missing", "write: belfry token create NAME --scope SCOPE"}},
			{"a missing second argument", []string{"job", "signal", "1"}, 2, []string{"NAME: is missing", "write: belfry job signal ID NAME"}},
			{"an argument too many", []string{"job", "show", "1", "2"}, 2, []string{`argument "2": is one too many`, "write: belfry job show ID"}},
			{"an argument where there is none", []string{"doctor", "now"}, 2, []string{`argument "now": is one too many`, "write: belfry doctor"}},
			{"an unknown flag", []string{"job", "list", "--stat", "failed"}, 2, []string{"unknown flag: --stat", "try: --state"}},
			{"an unknown verb", []string{"job", "lst"}, 2, []string{"try: belfry job list"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				sub := *s
				sub.t = &scene{t}
				r := sub.try(c.args...)
				if r.code != c.code {
					t.Errorf("exit code: got %d, want %d\n%s%s", r.code, c.code, r.stdout, r.stderr)
				}
				for _, pattern := range c.says {
					r.says(pattern)
				}
				if strings.Contains(r.stderr, "goroutine") {
					t.Errorf("error output: got a stack trace, want a sentence:\n%s", r.stderr)
				}
			})
		}
		n.unharmed(before)
	})
}

func TestAMistakeOnLineFortyIsPointedAt(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := s.serve("--allow-commands")
		before := n.contents()
		for name, c := range map[string]struct{ text, place string }{
			"an unknown key":          {long40("    retries: 3"), `bad.yaml:40:5: tasks\[12\].retries`},
			"a value of another type": {long40("    timeout: [5m]"), `bad.yaml:40:14: tasks\[12\].timeout`},
			"a value out of range":    {long40("    timeout: 5ns"), `bad.yaml:40:14: tasks\[12\].timeout "5ns": is outside`},
			"no YAML at all":          {long40("    timeout: \"5m"), `bad.yaml:40:\d+`},
			"a tab":                   {long40("\ttimeout: 5m"), `bad.yaml:40:\d+`},
			"a missing reference":     {strings.Replace(long40(""), "\n\n", "\nschedules: [{name: s, task: nothing, rules: [{every: 5s}]}]\n", 1), `bad.yaml:40:29: schedules\[0\].task "nothing"`},
		} {
			t.Run(name, func(t *testing.T) {
				sub := *s
				sub.t = &scene{t}
				r := sub.tryWith(c.text, "apply", "-f", sub.write("bad.yaml", c.text))
				r.exits(2)
				r.says(c.place).says(`^\s*>\s+40 \|`)
			})
		}
		n.unharmed(before)

		// The same input at the start of a node: it does not begin and leaves nothing behind.
		fresh := newSite(t, "sqlite:belfry.db")
		fresh.write("bad.yaml", long40("    retries: 3"))
		fresh.fails(2, `bad.yaml:40:5`, "serve", "--listen", "127.0.0.1:0", "--apply", "bad.yaml")
		fresh.write("belfry.config.yaml", "listen: 127.0.0.1:0\nlog_lvl: debug\n")
		fresh.fails(2, `belfry.config.yaml:2:1: log_lvl: .*log_level`, "serve")
		if _, err := os.Stat(filepath.Join(fresh.dir, "belfry.db")); err == nil {
			t.Error("a refused start left a database behind")
		}
	})
}

func TestBadInputOverHTTP(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := s.serve("--allow-commands")
		n.shellTask("a", "true")
		admin := s.token()
		brief := strings.TrimSpace(s.run("token", "create", "brief", "--scope", "read", "--expires", "1s").stdout)
		reader := strings.TrimSpace(s.run("token", "create", "reader", "--scope", "read").stdout)
		eventually(t, patience, "the token has expired", func() (bool, string) {
			a := get(t, n.url+"/v1/jobs", brief)
			return a.StatusCode == 401, a.Body
		})
		before := n.contents()
		big := `{"name":"b","command":{"shell":"` + strings.Repeat("x", 5<<20) + `"}}`
		for _, c := range []struct {
			name, method, path, token, body string
			status                          int
			code                            core.Code
			field, says                     string
		}{
			{"no token", "GET", "/v1/jobs", "", "", 401, core.Unauthorized, "", "token"},
			{"an unknown token", "GET", "/v1/jobs", "belfry_unknown", "", 401, core.Unauthorized, "", "the token is unknown"},
			{"an expired token", "GET", "/v1/jobs", brief, "", 401, core.Unauthorized, "", "expired"},
			{"a token that may only read", "POST", "/v1/tasks", reader, `{"name":"b","command":{"shell":"true"}}`, 403, core.Forbidden, "", "scope admin"},
			{"a token of another namespace", "GET", "/v1/jobs?namespace=other", reader, "", 403, core.Forbidden, "", "namespace"},
			{"an unknown field", "POST", "/v1/tasks", admin, `{"name":"b","timout":"5s","command":{"shell":"true"}}`, 422, core.Invalid, "timout", "did you mean timeout"},
			{"an unknown field inside", "POST", "/v1/tasks", admin, `{"name":"b","command":{"shel":"true"}}`, 422, core.Invalid, "command.shel", "did you mean shell"},
			{"an unknown kind", "POST", "/v1/tasks", admin, `{"name":"b","kind":"teleport"}`, 422, core.Invalid, "kind", "command"},
			{"a number for a duration", "POST", "/v1/tasks", admin, `{"name":"b","timeout":5,"command":{"shell":"true"}}`, 422, core.Invalid, "timeout", "unit"},
			{"an unknown zone", "POST", "/v1/schedules", admin, `{"name":"b","task":"a","zone":"Mars/Olympus","rules":[{"cron":"@daily"}]}`, 422, core.Invalid, "zone", "Mars/Olympus"},
			{"a cron rule that never matches", "POST", "/v1/schedules", admin, `{"name":"b","task":"a","rules":[{"cron":"0 0 30 2 *"}]}`, 422, core.Invalid, "rules", "never"},
			{"a negative interval", "POST", "/v1/schedules", admin, `{"name":"b","task":"a","rules":[{"every":"-5s"}]}`, 422, core.Invalid, "rules[0].every", "outside"},
			{"two rules in one", "POST", "/v1/schedules", admin, `{"name":"b","task":"a","rules":[{"every":"5s","cron":"@daily"}]}`, 422, core.Invalid, "rules[0]", "exactly one"},
			{"a missing task", "POST", "/v1/schedules", admin, `{"name":"b","task":"nothing","rules":[{"every":"5s"}]}`, 422, core.Invalid, "task", "nothing"},
			{"several faults at once", "POST", "/v1/apply", admin, `{"tasks":[{"name":"b","command":{"shell":"true"}}],"schedules":[{"name":"s","task":"b","rules":[{"every":"1ms"}],"overlap":"maybe"}]}`, 422, core.Invalid, "schedules[0].overlap", "one of skip"},
			{"half a manifest that is good", "POST", "/v1/apply", admin, `{"tasks":[{"name":"b","command":{"shell":"true"}}],"schedules":[{"name":"s","task":"nothing","rules":[{"every":"5s"}]}]}`, 422, core.Invalid, "schedules[0].task", "nothing"},
			{"a body that is no JSON", "POST", "/v1/tasks", admin, "{\n  \"name\": b}", 422, core.Invalid, "", "line 2, column 11"},
			{"a body over the limit", "POST", "/v1/tasks", admin, big, 413, core.TooLarge, "", "4 MiB"},
			{"a batch over the limit", "POST", "/v1/jobs", admin, `{"jobs":[` + strings.Repeat(`{"task":"a"},`, 100000) + `{"task":"a"}]}`, 413, core.TooLarge, "", "at once"},
			{"a job in a batch that is wrong", "POST", "/v1/jobs", admin, `{"jobs":[{"task":"a"},{"task":"nothing"}]}`, 404, core.NotFound, "", "nothing"},
			{"a job that is not a number", "GET", "/v1/jobs/first", admin, "", 422, core.Invalid, "id", ""},
			{"a job that does not exist", "GET", "/v1/jobs/4711", admin, "", 404, core.NotFound, "", "4711"},
			{"a state that is none", "GET", "/v1/jobs?state=sleeping", admin, "", 422, core.Invalid, "state", "sleeping"},
			{"a path that is none", "GET", "/v1/nothing", admin, "", 404, core.NotFound, "", ""},
			{"a cursor that is none", "GET", "/v1/jobs?cursor=%00x", admin, "", 422, core.Invalid, "cursor", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				a := send(t, c.method, n.url+c.path, c.token, c.body)
				p := a.problem(t)
				if a.StatusCode != c.status || p.Status != c.status || p.Code != c.code {
					t.Errorf("answer: got %d, want %d %s\n%s", a.StatusCode, c.status, c.code, a.Body)
				}
				if c.says != "" && !strings.Contains(a.Body, c.says) {
					t.Errorf("answer: want %q in it, got %s", c.says, a.Body)
				}
				found := c.field == ""
				for _, f := range p.Errors {
					found = found || f.Field == c.field || c.field == "rules" && strings.HasPrefix(f.Field, "rules")
				}
				if !found {
					t.Errorf("answer: want the field %s in it, got %s", c.field, a.Body)
				}
			})
		}
		n.unharmed(before)
		if log := n.stderr.String(); regexp.MustCompile(`level=ERROR|panic`).MatchString(log) {
			t.Errorf("log: bad input must not be logged as an error:\n%s", tail(log))
		}
	})
}

// A database that a newer Belfry has migrated is refused and not changed. A node that
// runs on it already becomes unready.
func TestANewerDatabaseIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := s.serve()
		open := func() *sql.DB {
			driver, name := "sqlite", filepath.Join(s.dir, "belfry.db")
			if s.postgres() {
				driver, name = "pgx", s.database
			}
			db := must[*sql.DB](t)(sql.Open(driver, name))
			t.Cleanup(func() { _ = db.Close() })
			return db
		}
		if !s.postgres() {
			n.signal(syscall.SIGTERM)
			n.ended(patience)
		}
		db := open()
		change := func(query string) {
			t.Helper()
			if !s.postgres() {
				query = strings.ReplaceAll(query, "belfry.", "belfry_")
			}
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		change("insert into belfry.migrations (version) values (9000)")
		change("update belfry.schema_floor set version = 9000")
		if s.postgres() {
			if code := n.ended(patience); code != 4 {
				t.Errorf("exit code of the running node: got %d", code)
			}
		}
		s.server = ""
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate"}, {"job", "list"}} {
			s.fails(4, `^error: this belfry is too old for its database`, args...).
				says("^try: start the belfry that migrated the database, or a newer one")
		}
		change("update belfry.schema_floor set version = 1")
		change("delete from belfry.migrations where version = 9000")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s.serve()
	})
}

func TestAnAddressThatOthersReachIsRefusedWithoutTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		s.fails(2, `listen .*others|listen .*other machines`, "serve", "--listen", address).
			says("will not listen on ").says("--tls-cert and --tls-key; or --behind-proxy").says("belfry token create")
	}
	s.fails(2, "listen .*is not an address", "serve", "--listen", "nonsense")
	if _, err := os.Stat(filepath.Join(s.dir, "belfry.db")); err == nil {
		t.Error("a refused start left a database behind")
	}

	// An address in use: the error names the way out, and no database stays locked.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nothing was written
	s.fails(6, "cannot listen on "+taken.Addr().String(), "serve", "--listen", taken.Addr().String()).says("^try: .*--listen")
	s.serve()
}
