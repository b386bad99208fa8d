package base

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

func TestATransitionThatAlwaysConflictsReportsAHint(t *testing.T) {
	t.Parallel()
	err := error(Meets{Table: "jobs"})
	if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "try again in a moment") {
		t.Errorf("got error %v, want unavailable, with the hint to try again", err)
	}
}
