// Package forge holds the files of the forge, in .github, to the repository: targets, folders and programs that they name
// exist.
package forge

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func exists(t *testing.T, file, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

func TestWorkflowsRunTargetsThatExist(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflow was found: %v", err)
	}
	matrix := regexp.MustCompile(`(?m)^ +target: \[(.*)\]$`)
	run := regexp.MustCompile(`(?m)^ +- run: (.*)$`)
	seen := 0
	for _, file := range files {
		text := read(t, strings.TrimPrefix(file, root+"/"))
		var targets []string
		for _, m := range matrix.FindAllStringSubmatch(text, -1) {
			targets = append(targets, strings.Split(m[1], ", ")...)
		}
		for _, m := range run.FindAllStringSubmatch(text, -1) {
			if target, ok := strings.CutPrefix(m[1], "make "); ok && !strings.HasPrefix(target, "${{") {
				targets = append(targets, target)
			}
			if strings.HasPrefix(m[1], ".ci/") {
				exists(t, file, m[1])
				seen++
			}
		}
		for _, target := range targets {
			name, variables, _ := strings.Cut(target, " ")
			if !strings.Contains(makefile, "\n"+name+":") {
				t.Errorf("%s: make %s: target not found", file, name)
			}
			for variable := range strings.FieldsSeq(variables) {
				variable, _, _ = strings.Cut(variable, "=")
				if !strings.Contains(makefile, "\n"+variable+" ?=") {
					t.Errorf("%s: make %s: variable %s not found", file, name, variable)
				}
			}
			seen++
		}
		if !strings.Contains(text, "\npermissions:\n  contents: ") {
			t.Errorf("%s: must limit the permissions of its token", file)
		}
	}
	if seen < 5 {
		t.Errorf("only %d targets were found", seen)
	}
}

func TestOwnersAndUpdatesNameFoldersThatExist(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(read(t, ".github/CODEOWNERS")) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(line, "/") {
			exists(t, "CODEOWNERS", fields[0])
		}
	}
	updates := read(t, ".github/dependabot.yml")
	named := map[string]bool{"/": true}
	for _, m := range regexp.MustCompile(`director(?:y|ies): \[?([^]\n]*)`).FindAllStringSubmatch(updates, -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			exists(t, "dependabot.yml", name)
			named[name] = true
		}
	}
	modules, err := filepath.Glob(filepath.Join(root, "*/go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(filepath.Join(root, "*/*/go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range append(modules, deeper...) {
		if folder := strings.TrimPrefix(filepath.Dir(module), root); !named[folder] {
			t.Errorf("dependabot.yml: module %s is not updated", folder)
		}
	}
}
