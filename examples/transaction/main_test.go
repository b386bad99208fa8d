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
	var out bytes.Buffer
	if err := run(ctx, filepath.Join(t.TempDir(), "shop.db"), &out); err != nil {
		t.Fatal(err)
	}
	if want := "1 job, 1 order shipped\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
