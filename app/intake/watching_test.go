package intake_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/intake"
	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/core"
)

var update = flag.Bool("update", false, "write the golden files")

// reader is how a kind of file is read.
type reader func(io.Reader, intake.Options) (intake.Result, error)

// read reads a file that must be readable as a whole.
func read(t *testing.T, how reader, text string) intake.Result {
	t.Helper()
	r, err := how(strings.NewReader(text), intake.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	watched(t, r)
	return r
}

// golden compares what a file of testdata becomes with what is kept beside it:
// the manifest, and everything that is said.
func golden(t *testing.T, how reader, name string) intake.Result {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	r := read(t, how, string(text))
	var manifest, said bytes.Buffer
	if err := config.WriteYAML(&manifest, r.Manifest); err != nil {
		t.Fatal(err)
	}
	say(&said, r)
	base := filepath.Join("testdata", strings.TrimSuffix(name, filepath.Ext(name)))
	compare(t, base+".manifest.golden", manifest.Bytes())
	compare(t, base+".said.golden", said.Bytes())
	return r
}

func say(w io.Writer, r intake.Result) {
	for _, l := range r.Lines {
		fmt.Fprintf(w, "%d %s\n", l.Number, l.Text)
		for _, made := range []string{l.Monitor, l.Channel, l.Window} {
			if made != "" {
				fmt.Fprintf(w, "  is %s: %s\n", made, l.Means)
			}
		}
		if l.Err != nil {
			fmt.Fprintf(w, "  fault: %s (%s)\n", l.Err, l.Err.Hint)
		}
		for _, n := range l.Notes {
			fmt.Fprintf(w, "  note: %s\n", n)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
}

func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what it was; go test -update writes it, and git diff shows the difference:\n%s", path, got)
	}
}

// watched checks what is true of every result with monitors.
func watched(t *testing.T, r intake.Result) {
	t.Helper()
	m := r.Manifest.WithDefaults(core.DefaultNamespace)
	if err := m.Validate(); err != nil {
		t.Errorf("the manifest is not valid: %v", err)
	}
	monitors, channels, windows := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, o := range m.Monitors {
		monitors[o.Name] = true
		for _, f := range condition.Vet(o.Check) {
			t.Errorf("monitor %s: %v", o.Name, f)
		}
	}
	for _, c := range m.Channels {
		channels[c.Name] = true
	}
	for _, w := range m.Windows {
		windows[w.Name] = true
		allThere(t, "window "+w.Name, w.Monitors, monitors)
	}
	for _, rule := range m.AlertRules {
		allThere(t, "rule "+rule.Name, rule.Monitors, monitors)
		allThere(t, "rule "+rule.Name, rule.Channels, channels)
		if len(rule.Monitors) == 0 {
			t.Errorf("rule %s is about every monitor there is", rule.Name)
		}
	}
	good, last := 0, 0
	for _, l := range r.Lines {
		if l.Number < 1 || l.Number < last {
			t.Errorf("%q: number %d after %d", l.Text, l.Number, last)
		}
		last = l.Number
		is := monitors[l.Monitor] || channels[l.Channel] || windows[l.Window]
		switch {
		case l.Err != nil && (is || l.Err.Message == "" || !strings.HasPrefix(l.Err.Field, "line ") || l.Column < 1):
			t.Errorf("an odd fault: %+v", l)
		case l.Err == nil && (!is || l.Means == ""):
			t.Errorf("%q became nothing: %+v", l.Text, l)
		}
		if l.Monitor != "" {
			good++
		}
	}
	if good != len(m.Monitors) {
		t.Errorf("%d lines are monitors, and there are %d", good, len(m.Monitors))
	}
}

func allThere(t *testing.T, what string, names []string, there map[string]bool) {
	t.Helper()
	for _, name := range names {
		if !there[name] {
			t.Errorf("%s names %q, which is not there", what, name)
		}
	}
}

func TestGatusAsTeamsHaveIt(t *testing.T) { kept(t, golden(t, intake.Gatus, "gatus.yaml")) }
func TestKumaBackup(t *testing.T)         { kept(t, golden(t, intake.Kuma, "kuma.json")) }
func TestKumaListOfVersion2(t *testing.T) { kept(t, golden(t, intake.Kuma, "kuma-v2.json")) }

// kept checks that a manifest survives a file.
func kept(t *testing.T, r intake.Result) {
	t.Helper()
	var b bytes.Buffer
	if err := config.WriteYAML(&b, r.Manifest); err != nil {
		t.Fatal(err)
	}
	back, err := config.ParseManifest([]config.Source{{Name: "m.yaml", Text: b.Bytes()}}, core.DefaultNamespace)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, b.String())
	}
	same(t, "read again", back.WithDefaults(core.DefaultNamespace), r.Manifest.WithDefaults(core.DefaultNamespace))
}
