package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
)

var update = flag.Bool("update", false, "write docs/reference anew")

// The reference pages are made from the commands and the configuration
// themselves. go test ./cmd/belfry -update writes them.
func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"../../docs/reference/api.md":      apiReference(t),
		"../../docs/reference/metrics.md":  metricsReference(),
		"../../docs/reference/cli.md":      cliReference(),
		"../../docs/reference/config.md":   configReference(),
		"../../docs/reference/kinds.md":    kindsReference(),
		"../../docs/reference/channels.md": channelsReference(),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s is not up to date (%v); run: go test ./cmd/belfry -run TestReference -update", path, err)
		}
	}
}

// commands is a command and all below it, without what cobra adds.
func commands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && !sub.Hidden {
			list = append(list, commands(sub)...)
		}
	}
	return list
}

func cliReference() string {
	top := root(cli.New(nil, io.Discard, io.Discard, nil))
	var b strings.Builder
	b.WriteString("# Commands\n\nMade from the program by `go test ./cmd/belfry -run TestReference -update`.\n\n")
	b.WriteString("```\n" + cli.ExitHelp + "\n```\n\nErrors go to standard error: `error:` and a sentence, one line for each field at fault, and `try:` with the\nnext thing to do. Progress and notes go there too, so that standard output holds the answer alone.\n\n")
	b.WriteString("## Flags of every command\n\n")
	writeFlags(&b, top.PersistentFlags(), nil)
	for _, cmd := range commands(top)[1:] {
		writeCommand(&b, cmd, top)
	}
	return b.String()
}

func writeCommand(b *strings.Builder, cmd, root *cobra.Command) {
	fmt.Fprintf(b, "## %s\n\n", cmd.CommandPath())
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	b.WriteString(text + "\n\n```\n" + cmd.UseLine() + "\n```\n\n")
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(b, "Also: `%s`.\n\n", strings.Join(cmd.Aliases, "`, `"))
	}
	if cmd.Example != "" {
		b.WriteString("```sh\n" + strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n") + "\n```\n\n")
	}
	writeFlags(b, cmd.LocalNonPersistentFlags(), root.PersistentFlags())
}

func writeFlags(b *strings.Builder, flags, known *pflag.FlagSet) {
	rows := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || known != nil && known.Lookup(f.Name) != nil {
			return
		}
		if rows++; rows == 1 {
			b.WriteString("| flag | meaning |\n|---|---|\n")
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, cell(f.Usage))
	})
	if rows > 0 {
		b.WriteString("\n")
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// apiReference is the routes that a node describes in its OpenAPI document.
func apiReference(t *testing.T) string {
	t.Helper()
	url, _ := strings.CutPrefix(inProcess(t)[0], "BELFRY_SERVER=")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var spec struct {
		Paths map[string]map[string]struct {
			Summary  string                `json:"summary"`
			Security []map[string][]string `json:"security"`
		} `json:"paths"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&spec); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(apiIntro)
	for _, path := range slices.Sorted(maps.Keys(spec.Paths)) {
		for _, method := range []string{"get", "post", "put", "delete"} {
			op, ok := spec.Paths[path][method]
			if !ok {
				continue
			}
			scope := ""
			for _, s := range op.Security {
				scope = strings.Join(s["token"], ", ")
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", strings.ToUpper(method), path, scope, cell(op.Summary))
		}
	}
	return b.String()
}

func metricsReference() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nMade from the program by `go test ./cmd/belfry -run TestReference -update`.\n\n" +
		"`/metrics` also has those of Go and of the process. Series of queues and of channels are bounded to 200, and those of\n" +
		"monitors to the 1,000 oldest that are up or down; `belfry_monitors` counts all. Gauges are of the whole database, whatever node is\n" +
		"asked; counters and histograms are of what the node itself has recorded, so sum them over nodes.\n\n| metric | labels | what |\n|---|---|---|\n")
	for _, m := range app.Metrics() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Name, strings.Join(m.Labels, ", "), cell(m.Help))
	}
	return b.String()
}

const apiIntro = `# HTTP API

Made from the program by ` + "`go test ./cmd/belfry -run TestReference -update`" + `.

Every node with the role api serves its own description: ` + "`/docs`" + ` for people, ` + "`/openapi.json` and `/openapi.yaml`" + ` (OpenAPI
3.1) for programs. Requests carry ` + "`Authorization: Bearer TOKEN`" + `; the scope in the table is what the token needs.

Errors are ` + "`application/problem+json`" + ` with a code for machines, a sentence, the fields at fault and a hint. Lists come in
pages: ` + "`next`" + ` is the ` + "`cursor`" + ` of the page after. ` + "`/v1/events`" + `, ` + "`/v1/hooks/{name}/stream`" + ` and followed logs are server-sent events. An
` + "`Idempotency-Key`" + ` makes enqueueing safe to repeat.

` + "`/healthz`" + ` says that the process need not be restarted, ` + "`/readyz`" + ` that it can serve (not while it stops), both without a token. ` + "`/metrics`" + `
is for Prometheus and wants the scope read for all namespaces.

| method | path | scope | what |
|---|---|---|---|
`

func configReference() string {
	var b strings.Builder
	b.WriteString(`# Configuration

Made from the program by ` + "`go test ./cmd/belfry -run TestReference -update`" + `.

A key has one name everywhere: ` + "`session_ttl`" + ` in the file is ` + "`BELFRY_SESSION_TTL`" + ` in the environment and
` + "`--session-ttl`" + ` on the command line. A flag counts before the environment, the environment before the file, the
file before the default. ` + "`belfry config`" + ` shows every value and where it comes from.

The file is ` + "`" + config.DefaultFile + "`" + ` in the current directory, or the one that ` + "`--config`" + ` or ` + "`BELFRY_CONFIG`" + ` names. Unknown
keys are errors, with line and column. Lists are written with commas in the environment and in flags, tables as
` + "`name=number,name=number`" + `. ` + "`DATABASE_URL`" + ` counts when nothing else names a database.

[belfry.schema.json](belfry.schema.json) describes the file for editors. With an editor that has yaml-language-server, begin the
file with ` + "`# yaml-language-server: $schema=PATH`" + `, a path or URL of that file.

| key | default | meaning | for |
|---|---|---|---|
`)
	for _, k := range config.Keys() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, cell(k.Default), cell(k.Doc), strings.Join(k.Groups, ", "))
	}
	return b.String()
}

// pages is every page for people.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(text)
	}
	add("../../README.md")
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			add(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	fenced := regexp.MustCompile("(?ms)^```.*?^```") // code has brackets of its own
	for path, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// Commands and flags in the pages exist.
func TestCommandsInThePagesExist(t *testing.T) {
	t.Parallel()
	fence := regexp.MustCompile("(?s)```sh\n(.*?)```")
	seen := 0
	for path, text := range pages(t) {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(strings.ReplaceAll(m[1], "\\\n", "")) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "go run ./cmd/")
				if !strings.HasPrefix(line, "belfry ") {
					continue
				}
				seen++
				if err := understood(words(line)[1:]); err != nil {
					t.Errorf("%s: %s: %v", path, line, err)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d commands were found", seen)
	}
}

func understood(args []string) error {
	cmd, rest, err := root(cli.New(nil, io.Discard, io.Discard, nil)).Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if cmd.Args != nil {
		return cmd.Args(cmd, cmd.Flags().Args())
	}
	return nil
}

// words splits a command line as a shell would, as far as the pages go, and
// ends at a pipe, a redirection or a comment.
func words(line string) []string {
	var list []string
	word, quoted, inside := "", rune(0), false
	end := func() {
		if inside {
			list = append(list, word)
		}
		word, inside = "", false
	}
	for _, r := range line {
		switch {
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quoted, inside = r, true
		case r == ' ':
			end()
		case !inside && (r == '|' || r == '>' || r == '#' || r == '&'):
			return list
		default:
			word, inside = word+string(r), true
		}
	}
	end()
	return list
}
