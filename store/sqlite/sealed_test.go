package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/seal"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestNoSecretLiesInTheFiles(t *testing.T) {
	dir := t.TempDir()
	st, err := sqlite.Open(t.Context(), filepath.Join(dir, "belfry.db"), sqlite.Options{Options: store.Options{Sealer: &seal.File{Path: filepath.Join(t.TempDir(), "key"), Own: true}}})
	if err != nil {
		t.Fatal(err)
	}
	storetest.KeepNeedles(t, st)
	look := func(when string) {
		files, err := os.ReadDir(dir)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		seen := 0
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if i := bytes.Index(data, []byte("needle")); i >= 0 {
				t.Errorf("%s, in %s: %q", when, f.Name(), data[max(0, i-100):min(len(data), i+60)])
			}
			seen += bytes.Count(data, []byte("sealed:"))
		}
		if seen == 0 {
			t.Errorf("%s, nothing sealed is in the files either", when)
		}
	}
	look("while it is open")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	look("once it is closed")
}

func TestSecretIsKeptWhileItsKeyIsAway(t *testing.T) {
	path, keys := filepath.Join(t.TempDir(), "belfry.db"), t.TempDir()
	with := func(key string, do func(st *store.Store)) {
		t.Helper()
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{Options: store.Options{Sealer: &seal.File{Path: filepath.Join(keys, key), Own: true}}})
		if err != nil {
			t.Fatal(err)
		}
		do(st)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	save := func(st *store.Store, url core.Secret, text string) error {
		_, err := st.SaveChannel(t.Context(), alert.Channel{Name: "c", Description: text, Slack: &alert.SlackChannel{URL: url}})
		return err
	}
	const url = "https://hooks.slack.example/x"
	with("right", func(st *store.Store) {
		if err := save(st, url, "before"); err != nil {
			t.Fatal(err)
		}
	})
	with("wrong", func(st *store.Store) {
		c, err := st.Channel(t.Context(), "default", "c")
		if err != nil || c.Description != "before" {
			t.Errorf("without the key the channel is %+v, %v", c, err)
		}
		if err := save(st, core.Redacted, "meanwhile"); core.CodeOf(err) != core.Invalid {
			t.Errorf("a secret that cannot be opened is replaced by what stands for it: %v", err)
		}
	})
	with("right", func(st *store.Store) {
		if err := save(st, core.Redacted, "after"); err != nil {
			t.Error(err)
		}
		if c, err := st.ChannelSecrets(t.Context(), "default", "c"); err != nil || c.Slack.URL != url {
			t.Errorf("%q, %v", string(c.Slack.URL), err)
		}
	})
}
