package parts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Owner is a monitor that a task or schedule belongs to.
func Owner(name string) (monitor string, owned bool) { return strings.CutPrefix(name, "monitor:") }

// taskName returns the name of a task for people.
func taskName(task string) string {
	if monitor, owned := Owner(task); owned {
		return "monitor " + monitor
	}
	return task
}

// Called returns the name of an object for people: its title with its name beside it,
// or its name alone.
func Called(title, name string) template.HTML {
	escaped := template.HTMLEscapeString(name)
	if title != "" && strings.HasPrefix(name, task.TrialPrefix) {
		return template.HTML("<bdi>" + template.HTMLEscapeString(title) + "</bdi>") //nolint:gosec // escaped
	}
	if title == "" {
		return template.HTML(escaped) //nolint:gosec // escaped
	}
	return template.HTML("<bdi>" + template.HTMLEscapeString(title) + `</bdi> <span class="alias">` + escaped + "</span>") //nolint:gosec // escaped
}

// Hover returns the attribute title of a link: title and name, where [Called] may have no room for both.
func Hover(title, name string) template.HTMLAttr {
	if title == "" || strings.HasPrefix(name, task.TrialPrefix) {
		return ""
	}
	return template.HTMLAttr(` title="` + template.HTMLEscapeString(title+" – "+name) + `"`) //nolint:gosec // escaped
}

// JoinedText returns the text for a request that created no job, or "" if it created one.
func JoinedText(e job.Enqueued) string {
	switch {
	case !e.Existing:
		return ""
	case e.Reason == flow.ReasonThrottled:
		return fmt.Sprintf("Job %d was made within the window of the throttle, and no other was.", e.Job.ID)
	case e.Reason == flow.ReasonDebounced:
		return fmt.Sprintf("The request joined job %d, which waits for the window of the debounce.", e.Job.ID)
	}
	return fmt.Sprintf("Job %d was there already, under the same key.", e.Job.ID)
}

// CommandLine returns the command of a task as it would be typed.
func CommandLine(t *task.Task) string {
	switch {
	case t == nil:
		return ""
	case t.Command != nil && t.Command.Shell != "":
		return t.Command.Shell
	case t.Command != nil:
		words := make([]string, len(t.Command.Argv))
		for i, w := range t.Command.Argv {
			words[i] = Quote(w)
		}
		return strings.Join(words, " ")
	case t.Program != nil:
		words := []string{"program " + Short(12, t.Program.SHA256)}
		for _, w := range t.Program.Args {
			words = append(words, Quote(w))
		}
		return strings.Join(words, " ")
	case t.HTTP != nil:
		return cmp.Or(t.HTTP.Method, "GET") + " " + t.HTTP.URL
	}
	return ""
}

// Document is JSON for people, and whether it had to be cut.
type Document struct {
	ID, Title, Text string
	Cut             bool
}

// maxDocument is how much of a document a page shows, in bytes.
const maxDocument = 256 << 10

// NewDocument writes JSON with a line for each value.
func NewDocument(id, title string, raw json.RawMessage) *Document {
	if len(raw) == 0 {
		return nil
	}
	d := &Document{ID: id, Title: title, Text: Pretty(raw)}
	if len(d.Text) > maxDocument {
		d.Text, _ = core.CleanText(d.Text[:maxDocument], maxDocument)
		d.Cut = true
	}
	return d
}

// JobRows are jobs for the part "job-rows".
type JobRows struct{ Items []jobRow }

type jobRow struct {
	Job            job.Job
	Link           string
	Claimed, Ended Moment
}

// linker is the page that rows stand on.
type linker interface {
	LinkIn(namespace string, parts ...any) string
	Ago(t time.Time) Moment
}

// NewJobRows are jobs in a table, or nil for none.
func NewJobRows(p linker, jobs []job.Job) *JobRows {
	if len(jobs) == 0 {
		return nil
	}
	var rows JobRows
	for _, j := range jobs {
		rows.Items = append(rows.Items, jobRow{j, p.LinkIn(j.Namespace, "jobs", j.ID), p.Ago(j.ClaimedAt), p.Ago(j.FinishedAt)})
	}
	return &rows
}

// jobChip is the state of a job: one that waits for another try, or was put off by its last one, says so.
func jobChip(j job.Job) Chip {
	switch {
	case j.Snoozed():
		return NewChip("snoozed")
	case j.State == job.Scheduled && j.Attempt > 0 && j.Failures > 0:
		return NewChip("retrying")
	case j.State == job.Running && !j.CancelAt.IsZero():
		return Chip{"to be canceled", "warn", "!"}
	}
	return NewChip(j.State)
}

// jobTook is how long the last attempt of a job ran, or has been running.
func jobTook(now time.Time, j job.Job) string {
	switch {
	case j.ClaimedAt.IsZero():
		return "–"
	case !j.FinishedAt.IsZero():
		return core.SpanText(max(0, j.FinishedAt.Sub(j.ClaimedAt)))
	case j.State == job.Running:
		return core.SpanText(max(0, now.Sub(j.ClaimedAt)).Truncate(time.Second))
	}
	return "–"
}

// Counted is a number that was counted no further than a cap.
func Counted(c core.Counted) string {
	if c.More {
		return NumberText(c.Count) + "+"
	}
	return NumberText(c.Count)
}

// ReasonText is why something did not run.
func ReasonText(r core.Reason) string {
	if text, ok := reasonTexts[r]; ok {
		return text
	}
	return Words(r)
}

// reasonTexts say why something did not run.
var reasonTexts = map[core.Reason]string{
	schedule.ReasonOverlap:       "the previous run was still going",
	schedule.ReasonBufferFull:    "the buffer was full",
	schedule.ReasonCatchupNone:   "missed, and missed runs are not made up",
	schedule.ReasonCatchupLatest: "missed, and only the latest is made up",
	schedule.ReasonCatchupWindow: "missed too long ago to be made up",
	schedule.ReasonCatchupMax:    "missed, and the limit of made-up runs was reached",
	schedule.ReasonBlackout:      "a calendar kept it out",
	schedule.ReasonMaxRuns:       "maximum runs reached",
	schedule.ReasonQuota:         "its namespace had no room for another job",
	schedule.ReasonQueueFull:     "its queue was full",
	schedule.ReasonPaused:        "the schedule was paused",
	schedule.ReasonEdited:        "the times of the schedule were edited",
	schedule.ReasonDeleted:       "the schedule or its task was deleted",
	schedule.ReasonCanceled:      "canceled by hand",
	schedule.ReasonReplaced:      "a later run took its place",
	schedule.ReasonExhausted:     "out of retries",
	schedule.ReasonNoRetry:       "the job asked for no retry",
	schedule.ReasonLost:          "its worker was lost",
	schedule.ReasonSnoozed:       "put off by its last attempt",
	schedule.ReasonSnoozes:       "snoozed too often",
	job.ReasonDropped:            "dropped from a full queue",
}
