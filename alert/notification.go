package alert

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Notification is an event that alert rules may send to channels.
type Notification struct {
	Type         NotificationType `json:"type" enum:"down,up,reminder,degraded,recovered,slow,normal,flapping,steady,stale,fresh,changed,certificate,job_failed,schedule_missed,cycle_ended,hook_disabled,closed,test,update,announcement,status,confirm"`
	At           time.Time        `json:"at" doc:"When it happened: of an outage, its first failure"`
	Namespace    string           `json:"namespace"`
	Monitor      string           `json:"monitor,omitempty"`
	Task         string           `json:"task,omitempty"`
	Schedule     string           `json:"schedule,omitempty"`
	DisplayTitle string           `json:"display_title,omitempty" doc:"Title of the monitor, of the hook, or of the task or schedule when it is about a job or a run"`
	JobID        int64            `json:"job_id,omitempty"`
	Incident     int64            `json:"incident,omitempty"`

	Announcement int64 `json:"announcement,omitempty"`

	Tags   []string       `json:"tags,omitempty"`
	Target string         `json:"target,omitempty" doc:"What the monitor looks at, without secrets"`
	About  string         `json:"about,omitempty" doc:"Description of the monitor, in one line"`
	Title  string         `json:"title" doc:"One line for people"`
	Text   string         `json:"text,omitempty" doc:"The rest, some lines"`
	Code   task.CheckCode `json:"code,omitempty"`
	Since  time.Time      `json:"since,omitzero" doc:"Begin of the outage"`
	Lasted core.Duration  `json:"lasted,omitempty" doc:"With up: how long it was down"`
	Count  int            `json:"count,omitempty" doc:"With reminder: the how manyth"`
	Diff   string         `json:"diff,omitempty" doc:"With changed: the first lines of the difference"`

	Ends NotificationType `json:"ends,omitempty" doc:"With closed: the type of the notification that it ends"`
}

// NotificationType is the type of the event.
type NotificationType string

// The types. Each type that begins a problem has a type that ends it.
const (
	NotificationDown           NotificationType = "down"
	NotificationUp             NotificationType = "up"
	NotificationReminder       NotificationType = "reminder"
	NotificationDegraded       NotificationType = "degraded"
	NotificationRecovered      NotificationType = "recovered" // from degraded
	NotificationSlow           NotificationType = "slow"
	NotificationNormal         NotificationType = "normal" // latency is normal again
	NotificationFlapping       NotificationType = "flapping"
	NotificationSteady         NotificationType = "steady" // flapping ended
	NotificationStale          NotificationType = "stale"
	NotificationFresh          NotificationType = "fresh" // checks work again
	NotificationChanged        NotificationType = "changed"
	NotificationCertificate    NotificationType = "certificate"
	NotificationJobFailed      NotificationType = "job_failed"
	NotificationScheduleMissed NotificationType = "schedule_missed"
	NotificationCycleEnded     NotificationType = "cycle_ended"
	NotificationHookDisabled   NotificationType = "hook_disabled" // deliveries to the hook failed for a long time
	NotificationTest           NotificationType = "test"

	// NotificationClosed closes a problem that is not over: its monitor was paused, deleted, or pointed at another target. No
	// rule can name it, because it goes where the start went.
	NotificationClosed NotificationType = "closed"
)

// The types for subscribers of status pages. No rule can name them.
const (
	NotificationUpdate       NotificationType = "update"       // of an incident
	NotificationAnnouncement NotificationType = "announcement" // on a status page
	NotificationStatus       NotificationType = "status"       // several changes of a status page at once
	NotificationConfirm      NotificationType = "confirm"      // asks to confirm a subscription
)

// NotificationTypes lists the types that a rule may name, grouped by meaning.
var NotificationTypes = []NotificationType{NotificationDown, NotificationUp, NotificationReminder, NotificationDegraded, NotificationRecovered, NotificationSlow, NotificationNormal, NotificationFlapping, NotificationSteady,
	NotificationStale, NotificationFresh, NotificationChanged, NotificationCertificate, NotificationJobFailed, NotificationScheduleMissed, NotificationCycleEnded, NotificationHookDisabled}

// BeginOf maps a type that ends a problem to the type that began it.
var BeginOf = map[NotificationType]NotificationType{NotificationUp: NotificationDown, NotificationRecovered: NotificationDegraded, NotificationNormal: NotificationSlow, NotificationSteady: NotificationFlapping, NotificationFresh: NotificationStale}

// Over reports whether the type means that a problem is over, or that its checks have ended.
func (n NotificationType) Over() bool { return n == NotificationClosed || BeginOf[n] != "" }

// Begin returns the type that the notification ends, or "" if it ends none.
func (n Notification) Begin() NotificationType {
	if n.Type == NotificationClosed {
		return n.Ends
	}
	return BeginOf[n.Type]
}

// maxNotificationError is the most bytes of an attempt's error in a notification.
const maxNotificationError = 2 << 10

// JobFailedNotification returns the notification of a job that has failed
// permanently. It is not for checks of monitors, because the monitor has a
// verdict. taskTitle may be empty.
func JobFailedNotification(j job.Job, taskTitle string) Notification {
	n := Notification{
		Type: NotificationJobFailed, At: j.FinishedAt, Namespace: j.Namespace, Task: j.Task, Schedule: j.Schedule, JobID: j.ID, Tags: j.Tags, DisplayTitle: taskTitle,
		Title: fmt.Sprintf("Job %d of task %s failed", j.ID, title.Named(taskTitle, j.Task)),
	}
	var text strings.Builder
	fmt.Fprintf(&text, "After %d of %d attempts", max(j.Attempt, j.Failures), max(j.MaxAttempts, j.Attempt))
	if j.Reason != "" {
		text.WriteString(", " + strings.ReplaceAll(string(j.Reason), "_", " "))
	}
	if j.Note != "" { // for example, that its sequence is stopped
		text.WriteString(" (" + j.Note + ")")
	}
	text.WriteString(".")
	if j.Schedule != "" {
		text.WriteString(" Schedule " + j.Schedule)
		if !j.Nominal.IsZero() {
			text.WriteString(", planned for " + core.Stamp(j.Nominal))
		}
		text.WriteString(".")
	}
	if said, cut := core.CleanText(j.Error, maxNotificationError); said != "" {
		text.WriteString("\n" + said)
		if cut {
			text.WriteString("…")
		}
	}
	n.Text = text.String()
	return n
}

// ScheduleMissedNotification returns the notification of an occurrence that will
// never run, contrary to its plan: no node fired it in time, or too many runs
// were waiting. For all other occurrences it returns false.
//
// A run that was skipped because the previous run had not ended is not missed:
// the author of the schedule chose that, and a run that hangs ends at its timeout
// and is reported as a failed job. Also not missed are runs that a later run
// catches up, and runs that a calendar, a pause, an edit or max_runs prevented.
// Schedules of monitors have no such notification: a monitor reports itself that
// it was not checked for too long.
func ScheduleMissedNotification(s schedule.Schedule, o schedule.Occurrence) (Notification, bool) {
	if _, isOwned := task.OwnerOf(s.Name); isOwned || o.Decision != schedule.DecidedSkipped {
		return Notification{}, false
	}
	var why string
	switch o.Reason {
	case schedule.ReasonCatchupNone:
		why = "nothing could fire it in time, and the schedule makes up for no run (catchup: none)"
	case schedule.ReasonCatchupWindow:
		why = fmt.Sprintf("nothing could fire it in time, and it is longer ago than what is made up for (catchup_window: %s)", s.CatchupWindow)
	case schedule.ReasonCatchupMax:
		why = fmt.Sprintf("nothing could fire it in time, and more were missed than are made up for at once (catchup_max: %d)", s.CatchupMax)
	case schedule.ReasonBufferFull:
		why = fmt.Sprintf("as many runs wait for the one before them as may (buffer_max: %d)", s.BufferMax)
	case schedule.ReasonQuota, schedule.ReasonQueueFull:
		why = o.Note
	default:
		return Notification{}, false
	}
	n := Notification{Type: NotificationScheduleMissed, At: o.Nominal, Namespace: s.Namespace, Schedule: s.Name, Task: s.Task, DisplayTitle: s.Title, Count: max(o.Count, 1)}
	if n.Count == 1 {
		n.Title = fmt.Sprintf("Schedule %s missed its run of %s", title.Named(s.Title, s.Name), s.Local(o.Nominal))
	} else {
		n.Title = fmt.Sprintf("Schedule %s missed %s runs from %s on", title.Named(s.Title, s.Name), manyRuns(n.Count), s.Local(o.Nominal))
	}
	n.Text = strings.ToUpper(why[:1]) + why[1:] + "."
	if !o.Until.IsZero() {
		n.Text += " The last of them was to be at " + s.Local(o.Until) + "."
	}
	return n, true
}

// manyRuns formats the count of an occurrence's row, which has an upper bound.
func manyRuns(n int) string {
	if n > 10_000 {
		return "more than 10000"
	}
	return fmt.Sprint(n)
}
