package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"
)

func TestTheExampleRuns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), "app.db")
	for range 2 { // it may start again
		theExampleRuns(ctx, t, path)
	}
}

func theExampleRuns(ctx context.Context, t *testing.T, path string) {
	t.Helper()
	var out bytes.Buffer
	if err := run(ctx, path, &out); err != nil {
		t.Fatal(err)
	}
	want := "hello World\ntwice: succeeded \"hello again\"\ntwice: succeeded \"hello again\"\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
