package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every statement names its tables as belfry.jobs, so that it means the store's
// own in a caller's transaction too, and under another schema or prefix. This
// reads the texts of SQL that stand in Go files and in the migrations.
func TestSQLNamesTablesInFull(t *testing.T) {
	names := newTableNames(t)
	for _, dir := range []string{".", "../internal", "../app", "../bench"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Name() == "node_modules" { // of the peers: their SQL is not ours
				return fs.SkipDir
			}
			if err != nil || e.IsDir() || path == "qualified_test.go" {
				return err
			}
			switch filepath.Ext(path) {
			case ".go":
				for _, text := range textsOf(t, path) {
					for _, fault := range names.faults(text.sql) {
						t.Errorf("%s: %s", text.at, fault)
					}
				}
			case ".sql":
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for _, fault := range names.faults(string(b)) {
					t.Errorf("%s: %s", path, fault)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The scan itself is tested with texts whose faults are known.
func TestTheScanForTableNamesFindsThem(t *testing.T) {
	names := newTableNames(t)
	for text, want := range map[string]int{
		"select id from jobs where id = $1":                                              1,
		"select id from belfry.jobs where belfry.jobs.id = $1":                           0,
		"select id from belfry.jobs where jobs.id = $1":                                  1,
		"insert into leases (job_id) select id from belfry.jobs":                         1,
		"update jobs\nset id = 1":                                                        1,
		"delete from belfry.jobs using leases where leases.job_id = 1":                   2,
		"with packed as (select 1 as n) select n from packed":                            0,
		"with t as (select * from belfry.jobs) select jobs.id from t as jobs":            0,
		"\n\t\tleft join sessions s on s.id = session":                                   1,
		"select 1 from (select * from belfry.running) as running where running.session":  0,
		"select 1 -- from jobs where it matters\nfrom belfry.jobs":                       0,
		"select 1 from belfry.jobs where state in (select state from jobs_done_rest)":    1,
		"create index jobs_x on jobs (id)":                                               1,
		"lists what comes from jobs of a queue":                                          0,
		"select nextval('ids_job')":                                                      1,
		"select * from unleased($1) as t (id)":                                           1,
		"select exists (select from belfry.leases) or exists (select from belfry.packs)": 0,
	} {
		if got := names.faults(text); len(got) != want {
			t.Errorf("%q: %d faults, want %d: %q", text, len(got), want, got)
		}
	}
}

// tableNames finds the tables, views, sequences and functions of the
// migrations in texts.
type tableNames struct{ cte, alias, table, column, other *regexp.Regexp }

func newTableNames(t *testing.T) tableNames {
	t.Helper()
	made := regexp.MustCompile(`(?m)^create (?:or replace )?(?:table|view|sequence|function) belfry\.(\w+)`)
	seen := map[string]bool{}
	var tables, sequences, functions []string
	files, _ := filepath.Glob("*/migrations/*.sql")
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made.FindAllStringSubmatch(string(b), -1) {
			switch name := m[1]; {
			case seen[name]:
			case strings.Contains(m[0], " sequence "):
				sequences = append(sequences, name)
			case strings.Contains(m[0], " function "):
				functions = append(functions, name)
			default:
				tables = append(tables, name)
			}
			seen[m[1]] = true
		}
	}
	if len(tables) < 40 {
		t.Fatalf("the migrations make %d tables: %q", len(tables), tables)
	}
	t1, s, f := strings.Join(tables, "|"), strings.Join(sequences, "|"), strings.Join(functions, "|")
	t1 = "(" + t1 + ")"
	return tableNames{
		cte:    regexp.MustCompile(`\b` + t1 + `\s*(?:\([^)]*\))?\s+as\s+(?:not\s+)?(?:materialized\s*)?\(`),
		alias:  regexp.MustCompile(`(?:\bas|\))\s+` + t1 + `\b`),
		table:  regexp.MustCompile(`(?i)\b(?:from|join|into|update|using|table|analyze|on)\s+` + t1 + `(?:_rest|_\d*)?(\s|\(|\)|,|;|$)`),
		column: regexp.MustCompile(`[^.\w']` + t1 + `\.[a-z_*]`),
		other:  regexp.MustCompile(`[^.\w](` + s + `)'|[^.\w](` + f + `)\(`),
	}
}

// sqlWords are what tells a text of SQL, or a part of one, from prose.
var sqlWords = regexp.MustCompile(`(?s)\bselect\b.*\bfrom\b|\binsert into \w+|\bdelete from \w+|\bupdate \w+\s+set\b|\b(create|drop|alter) (unique )?(table|index|view)\b|\b(from|join) \w+ (where|join|order by|group by|limit|cross join|left join|as|[b-z]) |^\s+(from|join|left join|cross join) \w+|nextval\('|\bselect \*`)

var sqlComment = regexp.MustCompile(`--[^\n]*`)

func (n tableNames) faults(text string) (faults []string) {
	text = sqlComment.ReplaceAllString(text, "")
	if !sqlWords.MatchString(text) {
		return nil
	}
	ctes, aliases := map[string]bool{}, map[string]bool{}
	for _, m := range n.cte.FindAllStringSubmatch(text, -1) {
		ctes[m[1]] = true
	}
	for _, m := range n.alias.FindAllStringSubmatch(text, -1) {
		aliases[m[1]] = true
	}
	for _, m := range n.table.FindAllStringSubmatch(text, -1) {
		// "on" leads to a table in "create index … on jobs (", and to a column elsewhere.
		index := !strings.HasPrefix(strings.ToLower(m[0]), "on") || strings.Contains(text, "create ") && strings.Contains(text, " index ")
		if !ctes[m[1]] && index {
			faults = append(faults, "write belfry."+m[1]+" in place of "+m[1]+" in "+strings.TrimSpace(m[0]))
		}
	}
	for _, m := range n.column.FindAllStringSubmatch(text, -1) {
		if !ctes[m[1]] && !aliases[m[1]] {
			faults = append(faults, "write belfry."+m[1]+", or an alias, in place of "+m[1]+" in "+strings.TrimSpace(m[0]))
		}
	}
	for _, m := range n.other.FindAllStringSubmatch(text, -1) {
		faults = append(faults, "write belfry."+m[1]+m[2]+" in place of "+m[1]+m[2])
	}
	return faults
}

// sqlText is a text in a Go file, with what is added to it.
type sqlText struct {
	at  token.Position
	sql string
}

func textsOf(t *testing.T, path string) (texts []sqlText) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if _, spec := n.(*ast.ImportSpec); spec || !ok || seen[n] {
			return !spec
		}
		if text, is := joined(e, seen); is {
			texts = append(texts, sqlText{files.Position(e.Pos()), text})
		}
		return true
	})
	return texts
}

// joined is a text, or several that are added, with ? for what is no text.
func joined(e ast.Expr, seen map[ast.Node]bool) (text string, is bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			seen[e] = true
			return strings.NewReplacer(`\n`, " ", `\t`, " ").Replace(strings.Trim(e.Value, "`\"")), true
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			x, isX := joined(e.X, seen)
			y, isY := joined(e.Y, seen)
			if isX || isY {
				seen[e] = true
				return x + y, true
			}
		}
	}
	return "?", false
}
