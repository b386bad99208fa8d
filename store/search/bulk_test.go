package search

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

// The error of a bulk action on 10,000 jobs has to say that a part of it is done, so that the caller may repeat it.
func TestAnErrorAfterPartsSaysHowFarItCame(t *testing.T) {
	full := core.Errorf(core.Unavailable, "the database is not available")
	if err := afterParts(full, 0); !errors.Is(err, full) || err.Error() != full.Error() {
		t.Errorf("without done parts: got %v, want %v", err, full)
	}
	var e *core.Error
	if err := afterParts(full, 500); !errors.As(err, &e) || e.Code != core.Unavailable || !strings.Contains(err.Error(), "500 jobs") || !strings.Contains(err.Error(), "not available") || e.Hint == "" {
		t.Errorf("after 500 jobs: got %v, want the number, the cause and a hint", err)
	}
	if err := afterParts(context.Canceled, 500); !errors.Is(err, context.Canceled) || core.CodeOf(err) != core.Internal {
		t.Errorf("after a canceled context: got %v, want %v", err, context.Canceled)
	}
}
