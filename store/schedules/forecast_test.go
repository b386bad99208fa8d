package schedules

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/belfry-run/belfry/schedule"
)

// A database returns schedules without a next run in any order.
func TestAGroupNamesItsFirstSchedules(t *testing.T) {
	t.Parallel()
	due := make([]timed, 30)
	for i := range due {
		name := fmt.Sprintf("s%02d", i)
		due[i] = timed{LoadOf: schedule.LoadOf{Schedule: name}, doc: `{"name":"` + name + `","rules":[{"cron":"*/10 * * * *"}]}`}
	}
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	groups, own := groupByTimes(due)
	if len(groups) != 1 || len(own) != 0 || groups[0].n != len(due) || len(groups[0].named) != maxNamed {
		t.Fatalf("groups: got %+v and %+v, want one of %d schedules", groups, own, len(due))
	}
	for i, of := range groups[0].named {
		if want := fmt.Sprintf("s%02d", i); of.Schedule != want {
			t.Errorf("named schedule %d: got %s, want %s", i, of.Schedule, want)
		}
	}
}
