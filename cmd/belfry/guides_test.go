package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
)

// What the guide for newcomers calls a command is one, with the flags that it names.
func TestComingFromNamesCommandsThatExist(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/guides/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	top := root(cli.New(nil, io.Discard, io.Discard, nil))
	named := regexp.MustCompile("`belfry ([^`]+)`").FindAllStringSubmatch(string(guide), -1)
	if len(named) < 20 {
		t.Fatalf("only %d commands are found", len(named))
	}
	for _, m := range named {
		words := strings.Fields(m[1])
		cmd, rest, err := top.Find(words)
		if err != nil || cmd == top {
			t.Errorf("belfry %s: %v", m[1], err)
			continue
		}
		for _, word := range rest {
			if flag, is := strings.CutPrefix(word, "--"); is && cmd.Flags().Lookup(flag) == nil {
				t.Errorf("belfry %s: there is no --%s", m[1], flag)
			}
		}
	}
}

// Files, tests and cases of the conformance suite that these pages name exist.
func TestPagesNameFilesAndTestsThatExist(t *testing.T) {
	t.Parallel()
	sources := sourcesOf(t, "../..")
	path := regexp.MustCompile("`((?:[a-z0-9_.-]+/[A-Za-z0-9_./-]+|[a-z_]+_test)\\.(?:go|sql|txtar|md))`")
	name := regexp.MustCompile(`\bTest[A-Z]\w*`)
	sentence := regexp.MustCompile(`"[a-z][^"|]{20,}"`)
	fenced := regexp.MustCompile("(?ms)^```.*?^```")
	for _, page := range []string{"how-it-works.md", "guarantees.md"} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		text = fenced.ReplaceAll(text, nil)
		files := path.FindAllStringSubmatch(string(text), -1)
		if len(files) < 40 {
			t.Errorf("%s: only %d files are found", page, len(files))
		}
		for _, m := range files {
			if _, err := os.Stat("../../" + m[1]); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		for _, test := range name.FindAllString(string(text), -1) {
			if !strings.Contains(sources, "func "+test) { // a lane is named by how its tests begin
				t.Errorf("%s: there is no test %s", page, test)
			}
		}
		for _, s := range sentence.FindAllString(string(text), -1) {
			if !strings.Contains(sources, s) {
				t.Errorf("%s: there is no case %s", page, s)
			}
		}
	}
}

// sourcesOf is the Go code of tests and of the conformance suite.
func sourcesOf(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "storetest") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
