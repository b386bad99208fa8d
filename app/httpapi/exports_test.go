package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func TestAnExportIsSentInParts(t *testing.T) {
	b := setup(t)
	parts := []string{"a", "b", "c"}
	b.parts = func(context.Context) (view.Manifest, bool, error) {
		m := view.Manifest{Tasks: []task.Task{{Name: parts[0]}}}
		parts = parts[1:]
		return m, len(parts) > 0, nil
	}
	m, err := b.client.Export(t.Context(), "")
	if err != nil || len(m.Tasks) != 3 || m.Tasks[2].Name != "c" {
		t.Errorf("exported %v, %v", m, err)
	}
}

// An export that breaks off must not look like a whole one.
func TestAnExportThatBreaksOffIsNotEnded(t *testing.T) {
	b := setup(t)
	var read int
	b.parts = func(context.Context) (view.Manifest, bool, error) {
		if read++; read%2 == 0 {
			return view.Manifest{}, false, core.Errorf(core.Conflict, "definitions changed while they were exported")
		}
		return view.Manifest{Tasks: []task.Task{{Name: "a", Description: strings.Repeat("d", 100_000)}}}, true, nil
	}
	if m, err := b.client.Export(t.Context(), ""); core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "broke off") || len(m.Tasks) > 0 {
		t.Errorf("exported %v, %v", m, err)
	}
	if read < 4 {
		t.Errorf("the client asked %d times", read/2)
	}
	b.parts = func(context.Context) (view.Manifest, bool, error) {
		return view.Manifest{}, false, core.Errorf(core.TooLarge, "there are too many")
	}
	if status, _, answer := b.raw(t, http.MethodGet, "/v1/export", ""); status != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d %s", status, answer)
	}
}

// One export at a time has a large first part.
func TestExportsBesideALargeOneAreInSmallParts(t *testing.T) {
	b := setup(t)
	b.firsts = make(chan int, 1)
	reading, done := make(chan struct{}), make(chan struct{})
	b.parts = func(context.Context) (view.Manifest, bool, error) {
		<-reading
		return view.Manifest{}, false, nil
	}
	go func() {
		defer close(done)
		_, _ = b.client.Export(t.Context(), "")
	}()
	if first := <-b.firsts; first != 8<<20 {
		t.Errorf("the first part of the only export: %d", first)
	}
	others := make(chan struct{})
	go func() {
		defer close(others)
		_, _ = b.client.Export(t.Context(), "")
	}()
	if first := <-b.firsts; first != 0 {
		t.Errorf("the first part of another: %d", first)
	}
	close(reading)
	<-done
	<-others
	b.parts = func(context.Context) (view.Manifest, bool, error) { return view.Manifest{}, false, nil }
	if _, err := b.client.Export(t.Context(), ""); err != nil || <-b.firsts != 8<<20 {
		t.Errorf("the export after them: %v", err)
	}
}
