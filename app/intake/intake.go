// Package intake reads what other schedulers and monitors were told and says it
// in Belfry's words: whole crontabs, CronJobs of Kubernetes, the configuration
// of Gatus and the backup of Uptime Kuma.
//
// Each entry of a file becomes one [Line]: what it means in plain words, when
// it runs next, what it became, such as a task and a schedule, or a monitor, and
// notes on what Belfry does otherwise. A faulty entry is a Line with its fault, by line and column,
// and does not keep the others from being read; it is not in the manifest. The
// manifest is always valid, and applying it twice changes nothing.
//
// What is carried over behaves as it did, not as Belfry's defaults would have
// it: an entry of a crontab may overlap with itself, is not retried, is not
// made up for and has the longest timeout there is, because cron does no more.
// Names are made of the commands, and those of monitors of their names, so the
// same file gives the same names.
//
// Nothing here does I/O but for the reader it is given, which is read up to
// [MaxSize] or [MaxBackup] bytes.
package intake

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

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

// maxGrown bounds what variables add to the entries of a file, in bytes. A
// small file would otherwise make a manifest that no memory holds.
const maxGrown = 16 * MaxSize

// nextShown is how many of its next times a line has.
const nextShown = 3

// Options says what a file does not. The zero value works.
type Options struct {
	Namespace string            // of what is made; default: none is written, and whoever applies it decides
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

	file int // the how manyth
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

// Read reads a file that is either: CronJobs when it looks like YAML or JSON
// of Kubernetes, and otherwise a crontab.
func Read(r io.Reader, o Options) (Result, error) {
	text, err := readAll(r)
	if err != nil {
		return Result{}, err
	}
	if looksLikeYAML(text) {
		return CronJobs(bytes.NewReader(text), o)
	}
	return Crontab(bytes.NewReader(text), o)
}

// looksLikeYAML goes by the first line that says anything.
func looksLikeYAML(text []byte) bool {
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, _, isPair := strings.Cut(line, ":")
		return line[0] == '{' || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "%YAML") ||
			isPair && (key == "apiVersion" || key == "kind" || key == "metadata" || key == "spec" || key == "items")
	}
	return false
}

func readAll(r io.Reader) ([]byte, error) { return readUpTo(r, MaxSize) }

func readUpTo(r io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, core.InvalidField("file", "", "cannot be read: "+err.Error(), "")
	}
	if len(text) > limit {
		return nil, core.Errorf(core.TooLarge, "the file has more than %d bytes", limit).WithHint("split it")
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

// prepare fills what was left out and refuses what makes no sense.
func (o Options) prepare() (Options, error) {
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

// builder collects the entries of one file.
type builder struct {
	Options
	res       Result
	schedules names
	tasks     names
	sameTask  map[[sha256.Size]byte]string // what a task does, and the name it has
	grown     int                          // bytes that variables have added
}

func newBuilder(o Options) *builder {
	return &builder{Options: o, schedules: newNames(), tasks: newNames(), sameTask: map[[sha256.Size]byte]string{}}
}

// place is where something stands in the file, from 1.
type place struct{ line, column int }

// fault puts what is wrong into a line. The first fault stays.
func (l *Line) fault(at place, field, value, message, hint string) {
	if l.Err != nil {
		return
	}
	where := fmt.Sprintf("line %d", at.line)
	if at.column > 0 {
		where += fmt.Sprintf(", column %d", at.column)
	}
	if field != "" {
		where += ", " + field
	}
	if short, cut := core.CleanText(value, 120); cut {
		value = short + "…"
	} else {
		value = short
	}
	l.Column = at.column
	l.Err = &core.FieldError{Field: where, Value: value, Message: message, Hint: hint}
}

func (l *Line) notef(format string, args ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
}

func (b *builder) notef(format string, args ...any) {
	b.res.Notes = append(b.res.Notes, fmt.Sprintf(format, args...))
}

// cronFault takes over what the time engine says about a text that stands in
// the file from the given place on.
func (l *Line) cronFault(at place, err error) {
	var ce *cron.Error
	if !errors.As(err, &ce) {
		l.fault(at, "", "", err.Error(), "")
		return
	}
	if ce.Pos > 0 && at.column > 0 {
		at.column += ce.Pos - 1
	}
	message := ce.Msg
	if ce.Seen != "" {
		message += "; understood so far: " + ce.Seen
	}
	l.fault(at, ce.Field, ce.Value, message, ce.Hint)
}

// explain says when a schedule runs, whether or not its entry has a fault
// elsewhere. The name matters: hashes are taken of it.
func (b *builder) explain(l *Line, s schedule.Schedule, at place) bool {
	s = s.WithDefaults()
	plan, err := s.Plan()
	if err != nil {
		l.firstFault(at, err)
		return false
	}
	l.Means = s.Explain(plan)[0]
	l.Next = s.Upcoming(plan, b.Now, nextShown)
	return true
}

// firstFault takes over the first thing that the root refuses.
func (l *Line) firstFault(at place, err error) {
	var e *core.Error
	if errors.As(err, &e) && len(e.Fields) > 0 {
		f := e.Fields[0]
		l.fault(at, f.Field, f.Value, f.Message, f.Hint)
		return
	}
	l.fault(at, "", "", err.Error(), "")
}

// add puts an entry without a fault into the manifest, when the root agrees.
func (b *builder) add(l *Line, at place, t task.Task, s schedule.Schedule) {
	t.Namespace, s.Namespace, t.Queue = b.Namespace, b.Namespace, b.Queue
	if !plainCommand(t.Command) {
		l.fault(at, "command", "", "has bytes that are not text", "")
	}
	if l.Err == nil {
		if err := t.WithDefaults().Validate(); err != nil {
			l.firstFault(at, err)
		} else if err := s.WithDefaults().Validate(b.Now); err != nil {
			l.firstFault(at, err)
		}
	}
	if l.Err == nil {
		if !b.tasks.taken[t.Name] {
			b.tasks.taken[t.Name] = true
			b.res.Manifest.Tasks = append(b.res.Manifest.Tasks, t)
		}
		b.schedules.taken[s.Name] = true
		b.res.Manifest.Schedules = append(b.res.Manifest.Schedules, s)
		l.Schedule, l.Task = s.Name, t.Name
	}
	b.res.Lines = append(b.res.Lines, *l)
}

// plain reports whether a text can be kept: PostgreSQL refuses NUL, and what
// is not UTF-8 would come back as something else.
func plain(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func plainCommand(c *task.Command) bool {
	ok := plain(c.Shell) && plain(c.Stdin) && plain(c.Dir)
	for _, arg := range c.Argv {
		ok = ok && plain(arg)
	}
	for name, value := range c.Env {
		ok = ok && plain(name) && plain(value)
	}
	return ok
}
