package monitor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/schedule"
)

// verdict is a decision of the model.
type verdict struct {
	Became    map[time.Time]string // every nominal time decided now
	Waited    map[time.Time]string // those that waited and were decided now
	Cancel    []int64
	Terminate []int64
	HighWater time.Time
	NextAt    time.Time
	Runs      int64
	State     schedule.State
}

func minutesAfter(t *rapid.T, from time.Time, least, most int, label string) time.Time {
	return from.Add(time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Minute)
}

func (v verdict) String() string {
	text := ""
	for _, m := range []map[time.Time]string{v.Became, v.Waited} {
		for _, t := range slices.SortedFunc(maps.Keys(m), time.Time.Compare) {
			text += in(t) + " " + m[t] + "; "
		}
		text += "| "
	}
	return text + fmt.Sprintf("cancel %v terminate %v mark %s next %s runs %d %s", v.Cancel, v.Terminate, in(v.HighWater), in(v.NextAt), v.Runs, v.State)
}
