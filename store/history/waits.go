package history

import (
	"slices"
	"strings"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// opposites maps the names of checks, or the ends of names, to their negation.
var opposites = [][2]string{
	{"queue exists", "queue does not exist"},
	{" is not paused", " is paused"},
	{"queue is under its global limit", "queue is at its global limit"},
	{"its time has come", "its time has not come"},
	{"no job goes first", "other jobs go first"},
	{" has ended", " has not ended"},
	{" has come", " has not come"},
	{" has room", " has no room"},
	{" is uploaded", " is not uploaded"},
	{" is there", " is missing"},
}

// negation returns the negation of a check's name.
func negation(name string) string {
	for _, o := range opposites {
		if rest, is := strings.CutSuffix(name, o[0]); is {
			return rest + o[1]
		}
	}
	return "not so: " + name
}

// noneHas describes the part of a requirement that no worker meets.
func noneHas(d task.Requirement, workers []job.WorkerState) string {
	var all []string
	for i, x := range workers {
		var lacks []string
		for _, text := range d.Unmet(x.Has) {
			text, _, _ = strings.Cut(text, " (it ") // cuts off what this worker has instead
			lacks = append(lacks, text)
		}
		if i == 0 {
			all = lacks
		}
		all = slices.DeleteFunc(all, func(text string) bool { return !slices.Contains(lacks, text) })
	}
	if len(all) == 0 {
		return "no worker meets all requirements"
	}
	return "no worker has " + strings.Join(all, ", ")
}
