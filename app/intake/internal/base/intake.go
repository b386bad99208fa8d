package base

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Limits of a file.
const (
	MaxSize   = 1 << 20 // bytes
	MaxBackup = 8 << 20 // bytes of a backup of Uptime Kuma, which is wordy
	MaxLines  = 10_000  // lines of a crontab, CronJobs, or monitors
)

// MaxGrown bounds the bytes that variables add to the entries of a file. A
// small file would otherwise make a manifest that no memory holds.
const MaxGrown = 16 * MaxSize

// nextShown is how many of its next times a line has.
const nextShown = 3

// Options are the settings that a file lacks. The zero value works.
type Options struct {
	Namespace string            // of the definitions; default: none is written, and apply decides
	Zone      string            // where times are read that have no zone of their own; default: UTC
	Format    Format            // of a crontab; default: found out
	Queue     string            // lane of the tasks, or of the checks of monitors; default: default, or checks
	Env       map[string]string // values of variables such as ${TOKEN} in a configuration of Gatus; nil: none is filled in
	Now       time.Time         // next times lie after it; default: the time of the call
}

// Format is which kind of crontab a file is.
type Format string

// A line of a system crontab (/etc/crontab, /etc/cron.d) names a user before
// its command; one of a user's crontab (crontab -e) does not.
const (
	FormatUser   Format = "user"
	FormatSystem Format = "system"
)

// Result is a file as Belfry understood it.
type Result struct {
	Manifest view.Manifest `json:"manifest" doc:"The entries without a fault, as definitions that can be applied"`
	Lines    []Line        `json:"lines" doc:"Every entry, in the order of the file"`
	Notes    []string      `json:"notes,omitempty" doc:"What is to be said of the file as a whole"`
}

// Line is one entry of a file.
type Line struct {
	File     string           `json:"file,omitempty" doc:"Name of the file, where there are several"`
	Number   int              `json:"number" doc:"Where it begins in the file, from 1"`
	Column   int              `json:"column,omitempty" doc:"Of the fault, in its own line, from 1; 0: there is none"`
	Text     string           `json:"text" doc:"As it was written; of a CronJob its name and schedule, of a monitor its name and target"`
	Means    string           `json:"means,omitempty" doc:"When it runs, in a plain sentence"`
	Next     []time.Time      `json:"next,omitempty" doc:"Its next three times"`
	Schedule string           `json:"schedule,omitempty" doc:"Name of the schedule it became"`
	Task     string           `json:"task,omitempty" doc:"Name of the task it became; entries that run the same share one"`
	Monitor  string           `json:"monitor,omitempty" doc:"Name of the monitor it became"`
	Channel  string           `json:"channel,omitempty" doc:"Name of the channel it became"`
	Window   string           `json:"window,omitempty" doc:"Name of the maintenance window it became; entries with the same times share one"`
	Notes    []string         `json:"notes,omitempty" doc:"What Belfry does otherwise, or cannot carry over"`
	Err      *core.FieldError `json:"error,omitempty" doc:"Why it was not carried over"`

	FileIndex int `json:"-"` // the how manyth
}

// Err is nil, or an error with the faults of all lines.
func (r Result) Err() error {
	e := &core.Error{Code: core.Invalid}
	for _, l := range r.Lines {
		if l.Err != nil {
			e.Fields = append(e.Fields, *l.Err)
		}
	}
	if len(e.Fields) == 0 {
		return nil
	}
	e.Message = fmt.Sprintf("%d of %d entries cannot be carried over", len(e.Fields), len(r.Lines))
	return e
}

func ReadAll(r io.Reader) ([]byte, error) { return ReadUpTo(r, MaxSize) }

func ReadUpTo(r io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, core.InvalidField("file", "", "cannot be read: "+err.Error(), "")
	}
	if len(text) > limit {
		return nil, core.Errorf(core.TooLarge, "the file has more than %d bytes", limit).WithHint("split it")
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

// Prepare fills empty fields and refuses invalid ones.
func (o Options) Prepare() (Options, error) {
	if o.Zone == "" {
		o.Zone = "UTC"
	}
	if _, err := cron.LoadZone(o.Zone); err != nil {
		return o, zoneError(o.Zone, err)
	}
	if o.Format != "" && o.Format != FormatUser && o.Format != FormatSystem {
		return o, core.InvalidField("format", string(o.Format), "is not a kind of crontab", "one of user, system")
	}
	for field, name := range map[string]string{"namespace": o.Namespace, "queue": o.Queue} {
		if name != "" {
			if err := core.ValidName(field, name); err != nil {
				return o, err
			}
		}
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return o, nil
}

func zoneError(zone string, err error) error {
	var ce *cron.Error
	if errors.As(err, &ce) {
		return core.InvalidField("zone", zone, ce.Msg, ce.Hint)
	}
	return core.InvalidField("zone", zone, err.Error(), "")
}

// Builder collects the entries of one file.
type Builder struct {
	Options
	Res       Result
	Schedules names
	tasks     names
	sameTask  map[[sha256.Size]byte]string // name of a task by the digest of its work
	Grown     int                          // bytes that variables have added
}

func NewBuilder(o Options) *Builder {
	return &Builder{Options: o, Schedules: newNames(), tasks: newNames(), sameTask: map[[sha256.Size]byte]string{}}
}

// Fault sets the fault of a line. The first fault stays.
func (l *Line) Fault(at tree.Place, field, value, message, hint string) {
	if l.Err != nil {
		return
	}
	where := fmt.Sprintf("line %d", at.Line)
	if at.Column > 0 {
		where += fmt.Sprintf(", column %d", at.Column)
	}
	if field != "" {
		where += ", " + field
	}
	if short, cut := core.CleanText(value, 120); cut {
		value = short + "…"
	} else {
		value = short
	}
	l.Column = at.Column
	l.Err = &core.FieldError{Field: where, Value: value, Message: message, Hint: hint}
}

func (l *Line) Notef(format string, args ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
}

func (b *Builder) Notef(format string, args ...any) {
	b.Res.Notes = append(b.Res.Notes, fmt.Sprintf(format, args...))
}

// CronFault sets the fault that package cron found in a text, which stands in
// the file from the given place on.
func (l *Line) CronFault(at tree.Place, err error) {
	var ce *cron.Error
	if !errors.As(err, &ce) {
		l.Fault(at, "", "", err.Error(), "")
		return
	}
	if ce.Pos > 0 && at.Column > 0 {
		at.Column += ce.Pos - 1
	}
	message := ce.Msg
	if ce.Seen != "" {
		message += "; understood so far: " + ce.Seen
	}
	l.Fault(at, ce.Field, ce.Value, message, ce.Hint)
}

// Explain returns when a schedule runs, whether or not its entry has a fault
// elsewhere. The name matters: hashes are taken of it.
func (b *Builder) Explain(l *Line, s schedule.Schedule, at tree.Place) bool {
	s = s.WithDefaults()
	plan, err := s.Plan()
	if err != nil {
		l.FirstFault(at, err)
		return false
	}
	l.Means = s.Explain(plan)[0]
	l.Next = s.Upcoming(plan, b.Now, nextShown)
	return true
}

// FirstFault takes over the first thing that the root refuses.
func (l *Line) FirstFault(at tree.Place, err error) {
	var e *core.Error
	if errors.As(err, &e) && len(e.Fields) > 0 {
		f := e.Fields[0]
		l.Fault(at, f.Field, f.Value, f.Message, f.Hint)
		return
	}
	l.Fault(at, "", "", err.Error(), "")
}

// Add puts an entry without a fault into the manifest, when the root agrees.
func (b *Builder) Add(l *Line, at tree.Place, t task.Task, s schedule.Schedule) {
	t.Namespace, s.Namespace, t.Queue = b.Namespace, b.Namespace, b.Queue
	if !plainCommand(t.Command) {
		l.Fault(at, "command", "", "has bytes that are not text", "")
	}
	if l.Err == nil {
		if err := t.WithDefaults().Validate(); err != nil {
			l.FirstFault(at, err)
		} else if err := s.WithDefaults().Validate(b.Now); err != nil {
			l.FirstFault(at, err)
		}
	}
	if l.Err == nil {
		if !b.tasks.Taken[t.Name] {
			b.tasks.Taken[t.Name] = true
			b.Res.Manifest.Tasks = append(b.Res.Manifest.Tasks, t)
		}
		b.Schedules.Taken[s.Name] = true
		b.Res.Manifest.Schedules = append(b.Res.Manifest.Schedules, s)
		l.Schedule, l.Task = s.Name, t.Name
	}
	b.Res.Lines = append(b.Res.Lines, *l)
}

// Plain reports whether a text can be kept: PostgreSQL refuses NUL, and what
// is not UTF-8 would come back as something else.
func Plain(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func plainCommand(c *task.Command) bool {
	ok := Plain(c.Shell) && Plain(c.Stdin) && Plain(c.Dir)
	for _, arg := range c.Argv {
		ok = ok && Plain(arg)
	}
	for name, value := range c.Env {
		ok = ok && Plain(name) && Plain(value)
	}
	return ok
}
