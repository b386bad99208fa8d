package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// What a shell asks, and the words that it is offered.
func TestShellsCompleteNames(t *testing.T) {
	env := inProcess(t)
	run := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Main(t.Context(), args, strings.NewReader(""), &out, &errs, env); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, errs.String())
		}
		return out.String()
	}
	for _, line := range []string{
		"task create nightly --shell true", "task create noon --shell true", "task create other --shell true", "cycle create all --member nightly --member noon",
		"schedule create at-night --task nightly --cron @daily", "calendar create holidays --dates 2027-01-01", "monitor create api --heartbeat", // a check would make a job
		"channel set chat --webhook http://127.0.0.1:1/", "status-page create public", "job enqueue noon --delay 1h",
	} {
		run(strings.Fields(line)...)
	}
	for line, want := range map[string]string{
		"task show n":                             "nightly noon",
		"task update nightly n":                   "",
		"task create n":                           "",
		"task delete nightly n":                   "nightly noon",
		"job enqueue o":                           "other",
		"job show ":                               "1",
		"job cancel 1 ":                           "1",
		"schedule pause ":                         "at-night",
		"schedule create x --task n":              "nightly noon",
		"schedule create x --only-within h":       "holidays",
		"schedule next at":                        "at-night",
		"cycle show ":                             "all",
		"cycle create x --member no":              "noon",
		"monitor show ":                           "api",
		"monitor create x --depends-on a":         "api",
		"queue pause d":                           "default",
		"channel test ":                           "chat",
		"announcement list ":                      "public",
		"--server http://127.0.0.1:1 task show n": "",
		"--token belfry_unknown task show n":      "",
		"--namespace other task show n":           "",
		"calendar show ":                          "holidays",
		"job list --queue s":                      "system",
		"task create x --queue d":                 "default",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		var got string
		for tries := 0; tries < 20 && (tries == 0 || got != want); tries++ { // a server that is slow to answer gives a shell no words
			var words []string
			for _, l := range strings.Split(run(args...), "\n") {
				if word, _, _ := strings.Cut(l, "\t"); word != "" && !strings.HasPrefix(word, ":") {
					words = append(words, word)
				}
			}
			got = strings.Join(words, " ")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	t.Chdir(t.TempDir())
	env = []string{"BELFRY_DATABASE=sqlite:belfry.db", "BELFRY_LISTEN=127.0.0.1:1"}
	run("__complete", "task", "show", "")
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("a key made %v: %v", left, err)
	}
}
