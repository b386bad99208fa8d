package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Sentences show an instant by core.Stamp, so that one is written alike wherever it is met, and pages find it. What is
// not a sentence keeps RFC 3339: values of fields, commands and documents.
var notSentences = []string{
	"app/ui/console/alerting/hook_page.go", // the body of a request
	"app/ui/console/jobs/log.go",           // lines of a file to keep
	"app/ui/feed.go",                       // part of a key
	"worker/internal/variables/job.go",     // a variable of the environment
}

func TestSentencesWriteInstantsAlike(t *testing.T) {
	t.Parallel()
	const root = "../.."
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, _ := filepath.Rel(root, path)
		at = filepath.ToSlash(at)
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bench", "cron", "internal", "tools", "store/storetest"}, at): // cron has a wall clock's times, and no core
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(at) != ".go" || strings.HasSuffix(at, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, call := range instantsInSentences(f) {
			if seen[at] = true; !slices.Contains(notSentences, at) {
				t.Errorf("%s: write the instant by core.Stamp, as all sentences do", fset.Position(call.Pos()))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range notSentences {
		if !seen[at] {
			t.Errorf("%s has no such instant and needs no exception", at)
		}
	}
}

func TestInstantsInSentencesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		n    int
	}{
		{`"until " + t.Format(time.RFC3339)`, 1},
		{`"until " + t.UTC().Format("2006-01-02 15:04:05 UTC") + "."`, 1},
		{`fmt.Sprintf("until %s", t.Format(time.RFC3339Nano))`, 1},
		{`p.Addf("to", t.Format(time.RFC3339), "is more than %s after from", d)`, 0},
		{`p.Addf("to", v, "is after %s", t.Format(time.RFC3339))`, 1},
		{`p.Add("to", t.Format(time.RFC3339), "has passed", "")`, 0},
		{`"on " + t.Format(time.DateOnly)`, 0},
		{`"until " + core.Stamp(t)`, 0},
	} {
		e, err := parser.ParseExpr(c.code)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(instantsInSentences(e)); got != c.n {
			t.Errorf("%s: %d, want %d", c.code, got, c.n)
		}
	}
}

// instantsInSentences are the calls of Format with date and time whose text is joined to others: by +, or as what a
// function like Sprintf puts in. The second argument of Addf is the value of a field.
func instantsInSentences(root ast.Node) (all []*ast.CallExpr) {
	add := func(e ast.Expr) {
		call, ok := e.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 || nameOf(call.Fun) != "Format" {
			return
		}
		switch layout := call.Args[0].(type) {
		case *ast.BasicLit:
			ok = strings.Contains(layout.Value, "2006-01-02") && strings.Contains(layout.Value, "15:04")
		default:
			ok = slices.Contains([]string{"RFC3339", "RFC3339Nano", "DateTime"}, nameOf(layout))
		}
		if ok {
			all = append(all, call)
		}
	}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.ADD {
				add(n.X)
				add(n.Y)
			}
		case *ast.CallExpr:
			name := nameOf(n.Fun)
			for i, arg := range n.Args {
				if strings.HasSuffix(name, "f") && !(name == "Addf" && i == 1) {
					add(arg)
				}
			}
		}
		return true
	})
	return all
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}
