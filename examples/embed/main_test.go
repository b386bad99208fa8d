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
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, filepath.Join(t.TempDir(), "app.db"), &out); err != nil {
		t.Fatal(err)
	}
	want := "hello World\ntwice: succeeded \"hello again\"\ntwice: succeeded \"hello again\"\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
