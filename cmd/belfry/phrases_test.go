package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// refused are phrases that a reader has to translate. A
// "redrive policy" is a setting of SQS.
var refused = regexp.MustCompile(`(?i)\b(any more|uses to be|somebody|nobody is told|in whose times|whoever|is not longer than nothing|late by|times of maintenance|redrive[ns]?(?: policy)?|redriving|reruns?)\b`)

// Texts that users read: guides, help, pages, errors and fields of the API.
// ADRs and tests are for those who work on the code.
func TestUserTextsHaveNoRefusedPhrases(t *testing.T) {
	t.Parallel()
	const root = "../.."
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, _ := filepath.Rel(root, path)
		if at = filepath.ToSlash(at); d.IsDir() {
			if slices.Contains([]string{".git", "testdata", "docs/decisions", "store/storetest", "internal", "bench", "tools"}, at) || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		text, err := userTexts(path, at)
		if len(text) > 0 {
			read++
		}
		for line, s := range text {
			for _, phrase := range refused.FindAllString(s, -1) {
				if !strings.EqualFold(phrase, "redrive policy") {
					t.Errorf("%s:%d: %q in %s", at, line, phrase, s)
				}
			}
		}
		return err
	})
	if err != nil || read < 300 {
		t.Fatalf("%d files read: %v", read, err)
	}
	for _, bad := range []string{"It is redriven.", "Whoever", "not kept any more"} {
		if !refused.MatchString(bad) {
			t.Errorf("%q is not refused", bad)
		}
	}
}

// faceless are subjects that hide which process, transition, caller or person is meant.
var faceless = regexp.MustCompile(`(?i)//.*\b(nobody|somebody|whoever)\b`)

// Comments of the code that is no test.
func TestCommentsNameTheirSubjects(t *testing.T) {
	t.Parallel()
	const root = "../.."
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		read++
		for i, line := range strings.Split(string(text), "\n") {
			if faceless.MatchString(line) && !strings.Contains(line, "the user nobody") {
				at, _ := filepath.Rel(root, path)
				t.Errorf("%s:%d: name who or what is meant: %s", filepath.ToSlash(at), i+1, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil || read < 1000 {
		t.Fatalf("%d files read: %v", read, err)
	}
	if !faceless.MatchString("x() // nobody knows") {
		t.Error("a faceless comment is not refused")
	}
}

// userTexts are the texts of a file by line: strings of a program, all of a
// guide or a page.
func userTexts(path, at string) (map[int]string, error) {
	out := map[int]string{}
	switch ext := filepath.Ext(at); {
	case ext == ".go" && !strings.HasSuffix(at, "_test.go"):
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				out[fset.Position(l.Pos()).Line] += l.Value + "\n"
			}
			return true
		})
	case ext == ".html" || ext == ".md" && (strings.HasPrefix(at, "docs/") || at == "README.md" || at == "CHANGELOG.md") || ext == ".yaml" && strings.HasPrefix(at, "examples/"):
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(b), "\n") {
			out[i+1] = line
		}
	}
	return out, nil
}
