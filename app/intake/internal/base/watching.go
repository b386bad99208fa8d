package base

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// Watching collects the monitors, channels, alert rules and maintenance windows of one file.
type Watching struct {
	*Builder
	monitors, Channels, rules, windows names

	// In the order in which they were first asked for, and the last by what they
	// have in common: monitors that tell the same channel of the same things, and
	// those that rest at the same times.
	Tellings  []*alert.Rule
	lastTell  map[string]*alert.Rule
	Pauses    []*monitor.Window
	lastPause map[string]*monitor.Window
	PausesAll bool // some window is for all monitors

	registered map[Registration]string // the monitors of domains
	said       map[string]bool         // which monitor is in which rule already
}

func NewWatching(o Options) *Watching {
	return &Watching{
		Builder: NewBuilder(o), monitors: newNames(), Channels: newNames(), rules: newNames(), windows: newNames(),
		lastTell: map[string]*alert.Rule{}, lastPause: map[string]*monitor.Window{}, registered: map[Registration]string{}, said: map[string]bool{},
	}
}

// Entry is one entry of a file while it is read. A message about it begins with
// its name, because a file may well be one line.
type Entry struct {
	*Line
	Name string
	At   tree.Place
}

func NewEntry(at tree.Place, name, text string) *Entry {
	return &Entry{&Line{Number: at.Line, Text: Clip(text)}, Clip(name), at}
}

// maxNotes of one entry; more would not be read.
const maxNotes = 30

func (e *Entry) Notef(format string, args ...any) {
	note := e.Name + ": " + fmt.Sprintf(format, args...)
	if len(e.Notes) < maxNotes && !slices.Contains(e.Notes, note) {
		e.Notes = append(e.Notes, note)
	}
}

func (e *Entry) Fault(at tree.Place, field, value, message, hint string) {
	path := e.Name
	if field != "" {
		path += ", " + field
	}
	e.Line.Fault(at, path, value, message, hint)
}

// refuse takes over the first thing that the root refuses.
func (e *Entry) refuse(err error) {
	var l Line
	l.FirstFault(tree.Place{}, err)
	_, field, _ := strings.Cut(l.Err.Field, ", ") // behind its line, which is none
	e.Fault(e.At, field, l.Err.Value, l.Err.Message, l.Err.Hint)
}

// Leave notes the keys of a mapping besides the known ones.
func (e *Entry) Leave(t *tree.Tree, path string, known ...string) {
	var left []string
	for _, key := range t.Keys {
		if !slices.Contains(known, key) && !t.Table[key].Empty() && len(left) < 20 {
			left = append(left, path+Clip(key))
		}
	}
	if len(left) > 0 {
		slices.Sort(left)
		e.Notef("not carried over: %s", strings.Join(left, ", "))
	}
}

// Done ends an entry, with or without a fault.
func (w *Watching) Done(e *Entry) { w.Res.Lines = append(w.Res.Lines, *e.Line) }

// maxStem is the length of the names that are made, before they are numbered.
const maxStem = 80

// Stem is a name made of a text, or of its default.
func Stem(text, otherwise string) string {
	return OrWord(CutText(Slug(CutText(text, 4*maxStem)), maxStem), otherwise)
}

// MonitorName is a free name for a monitor: its own, or with its group in front
// when another one of the file has it.
func (w *Watching) MonitorName(name, group, otherwise string) string {
	made := Stem(name, otherwise)
	if w.monitors.Taken[made] && group != "" {
		made = Stem(group+"-"+made, made)
	}
	return w.monitors.Free(made)
}

// Spend counts text that is read, which aliases and placeholders make more of
// than a file holds, and faults an entry that is too much.
func (w *Watching) Spend(e *Entry, at tree.Place, text string) string {
	if w.Grown += len(text); w.Grown <= MaxGrown {
		return text
	}
	e.Fault(at, "", "", "makes the file too large", "split it, or use fewer aliases")
	return ""
}

// Add puts a monitor without a fault into the manifest, when the root agrees,
// and reports whether it is there.
func (w *Watching) Add(e *Entry, m monitor.Monitor) bool {
	m.Namespace = w.Namespace
	if m.Heartbeat == nil {
		m.Check.Queue = w.Queue
	}
	m.Description, _ = core.CleanText(m.Description, core.MaxDescription)
	if e.Err == nil {
		full := m.WithDefaults()
		if err := full.Validate(w.Now); err != nil {
			e.refuse(err)
		} else {
			e.Means, e.Monitor = describe(full), m.Name
			w.monitors.Taken[m.Name] = true
			w.Res.Manifest.Monitors = append(w.Res.Manifest.Monitors, m)
		}
	}
	w.Done(e)
	return e.Err == nil
}

// describe describes a monitor in a sentence.
func describe(m monitor.Monitor) string {
	what := "A call is to come"
	if t := m.Check.Target(); m.Heartbeat == nil {
		what = t.Verb + Clip(t.Public)
	}
	return what + " every " + m.Every.String() + "."
}

// Bare is a URL without its parts that may be secret.
func Bare(text string) string {
	text, _, _ = strings.Cut(text, "?")
	if scheme, rest, hasScheme := strings.Cut(text, "://"); hasScheme {
		authority, path, hasPath := strings.Cut(rest, "/")
		authority = authority[strings.LastIndexByte(authority, '@')+1:]
		if text = scheme + "://" + authority; hasPath {
			text += "/" + path
		}
	}
	return text
}

// AddChannel puts a channel into the manifest and answers its name.
func (w *Watching) AddChannel(e *Entry, c alert.Channel) bool {
	c.Namespace = w.Namespace
	c.Description, _ = core.CleanText(c.Description, core.MaxDescription)
	if e.Err != nil {
		return false
	}
	if err := c.WithDefaults().Validate(w.Now); err != nil {
		e.refuse(err)
		return false
	}
	w.Channels.Taken[c.Name] = true
	w.Res.Manifest.Channels = append(w.Res.Manifest.Channels, c)
	return true
}

// Tell makes a monitor known to the rule that tells a channel of such things.
// No types means those that rules are about anyway.
func (w *Watching) Tell(monitor, channel string, on []alert.NotificationType, remind core.Duration) {
	key := fmt.Sprintf("%s %v %s", channel, on, remind)
	if w.said[key+" "+monitor] {
		return
	}
	w.said[key+" "+monitor] = true
	rule := w.lastTell[key]
	if rule == nil || len(rule.Monitors) == alert.MaxRuleTargets {
		rule = &alert.Rule{On: on, Channels: []string{channel}, Remind: remind}
		w.Tellings, w.lastTell[key] = append(w.Tellings, rule), rule
	}
	rule.Monitors = append(rule.Monitors, monitor)
}

// withLast puts a name behind the others, unless it is the last already.
func withLast(names []string, name string) []string {
	if n := len(names); n > 0 && names[n-1] == name {
		return names
	}
	return append(names, name)
}

// Rest puts a monitor into the window with these times, which is made when
// there is none. Without a monitor the window is for all of them. It answers
// the name of the window.
func (w *Watching) Rest(window monitor.Window, m string) string {
	key := fmt.Sprint(window.Rules[0].Cron, window.Lasts, window.Zone, m == "")
	p := w.lastPause[key]
	if p == nil || len(p.Monitors) == monitor.MaxWindowTargets {
		p = &window
		p.Namespace, p.Name = w.Namespace, w.windows.Free("maintenance")
		w.windows.Taken[p.Name] = true
		w.Pauses, w.lastPause[key] = append(w.Pauses, p), p
	}
	if m == "" {
		w.PausesAll = true
	} else {
		p.Monitors = withLast(p.Monitors, m)
	}
	return p.Name
}

// Finish writes what depends on all entries, and puts these into the order of
// the file.
func (w *Watching) Finish(what string) (Result, error) {
	for _, rule := range w.Tellings {
		rule.Namespace, rule.Name = w.Namespace, w.rules.Free(rule.Channels[0])
		w.rules.Taken[rule.Name] = true
		w.Res.Manifest.AlertRules = append(w.Res.Manifest.AlertRules, *rule)
	}
	for _, p := range w.Pauses {
		w.Res.Manifest.Windows = append(w.Res.Manifest.Windows, *p)
	}
	if len(w.Res.Lines) > MaxLines {
		return Result{}, core.Errorf(core.TooLarge, "the file has more than %d %s", MaxLines, what).WithHint("split it")
	}
	slices.SortStableFunc(w.Res.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.FileIndex, b.FileIndex), cmp.Compare(a.Number, b.Number))
	})
	return w.Res, nil
}

// Tags are the tags that texts become, each once.
func Tags(texts ...string) []string {
	var list []string
	for _, text := range texts {
		if tag := Stem(text, ""); tag != "" && !slices.Contains(list, tag) && len(list) < core.MaxTags {
			list = append(list, tag)
		}
	}
	return list
}

// TitleOf is the display title of a definition whose name could not stay as it was.
func TitleOf(made, was string) string {
	if made == was {
		return ""
	}
	return title.Of(was)
}

// SplitUser takes the user and password out of a URL, where a monitor may not
// have them.
func SplitUser(text string) (string, *task.HTTPAuth) {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text, nil
	}
	password, _ := u.User.Password()
	a := &task.HTTPAuth{User: u.User.Username(), Password: core.Secret(password)}
	u.User = nil
	return u.String(), a
}

// HostOf is a name for a target.
func HostOf(text string) string {
	if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return text
}
