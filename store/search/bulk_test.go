package search

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

// Who asked for 10,000 jobs and gets an error has to know that some of it is done, and may ask again.
func TestAnErrorAfterPartsSaysHowFarItCame(t *testing.T) {
	full := core.Errorf(core.Unavailable, "the database is not available")
	if err := afterParts(full, 0); !errors.Is(err, full) || err.Error() != full.Error() {
		t.Error(err)
	}
	var e *core.Error
	if err := afterParts(full, 500); !errors.As(err, &e) || e.Code != core.Unavailable || !strings.Contains(err.Error(), "500 jobs") || !strings.Contains(err.Error(), "not available") || e.Hint == "" {
		t.Error(err)
	}
	if err := afterParts(context.Canceled, 500); !errors.Is(err, context.Canceled) || core.CodeOf(err) != core.Internal {
		t.Error(err)
	}
}
