package intake

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// watching collects the monitors of one file, who is told of them, and when
// nobody is.
type watching struct {
	*builder
	monitors, channels, rules, windows names

	// In the order in which they were first asked for, and the last by what they
	// have in common: monitors that tell the same channel of the same things, and
	// those that rest at the same times.
	tellings  []*alert.Rule
	lastTell  map[string]*alert.Rule
	pauses    []*monitor.Window
	lastPause map[string]*monitor.Window
	pausesAll bool // some window is for all monitors

	registered map[registration]string // the monitors of domains
	said       map[string]bool         // which monitor is in which rule already
}

func newWatching(o Options) *watching {
	return &watching{
		builder: newBuilder(o), monitors: newNames(), channels: newNames(), rules: newNames(), windows: newNames(),
		lastTell: map[string]*alert.Rule{}, lastPause: map[string]*monitor.Window{}, registered: map[registration]string{}, said: map[string]bool{},
	}
}

// entry is one entry of a file while it is read. What is said of it begins with
// its name, because a file may well be one line.
type entry struct {
	*Line
	name string
	at   place
}

func newEntry(at place, name, text string) *entry {
	return &entry{&Line{Number: at.line, Text: clip(text)}, clip(name), at}
}

// maxNotes of one entry; more would not be read.
const maxNotes = 30

func (e *entry) notef(format string, args ...any) {
	note := e.name + ": " + fmt.Sprintf(format, args...)
	if len(e.Notes) < maxNotes && !slices.Contains(e.Notes, note) {
		e.Notes = append(e.Notes, note)
	}
}

func (e *entry) fault(at place, field, value, message, hint string) {
	path := e.name
	if field != "" {
		path += ", " + field
	}
	e.Line.fault(at, path, value, message, hint)
}

// refuse takes over the first thing that the root refuses.
func (e *entry) refuse(err error) {
	var l Line
	l.firstFault(place{}, err)
	_, field, _ := strings.Cut(l.Err.Field, ", ") // behind its line, which is none
	e.fault(e.at, field, l.Err.Value, l.Err.Message, l.Err.Hint)
}

// leave notes what a mapping holds besides the known keys.
func (e *entry) leave(t *tree, path string, known ...string) {
	var left []string
	for _, key := range t.keys {
		if !slices.Contains(known, key) && !t.table[key].empty() && len(left) < 20 {
			left = append(left, path+clip(key))
		}
	}
	if len(left) > 0 {
		slices.Sort(left)
		e.notef("not carried over: %s", strings.Join(left, ", "))
	}
}

// done is the end of an entry, whatever became of it.
func (w *watching) done(e *entry) { w.res.Lines = append(w.res.Lines, *e.Line) }

// maxStem is the length of the names that are made, before they are numbered.
const maxStem = 80

// stem is a name made of a text of a person, or of what stands in for it.
func stem(text, otherwise string) string {
	return orWord(cutText(slug(cutText(text, 4*maxStem)), maxStem), otherwise)
}

// monitorName is a free name for a monitor: its own, or with its group in front
// when another one of the file has it.
func (w *watching) monitorName(name, group, otherwise string) string {
	made := stem(name, otherwise)
	if w.monitors.taken[made] && group != "" {
		made = stem(group+"-"+made, made)
	}
	return w.monitors.free(made)
}

// spend counts text that is read, which aliases and placeholders make more of
// than a file holds, and faults an entry that is too much.
func (w *watching) spend(e *entry, at place, text string) string {
	if w.grown += len(text); w.grown <= maxGrown {
		return text
	}
	e.fault(at, "", "", "makes the file too large", "split it, or use fewer aliases")
	return ""
}

// add puts a monitor without a fault into the manifest, when the root agrees,
// and reports whether it is there.
func (w *watching) add(e *entry, m monitor.Monitor) bool {
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
			w.monitors.taken[m.Name] = true
			w.res.Manifest.Monitors = append(w.res.Manifest.Monitors, m)
		}
	}
	w.done(e)
	return e.Err == nil
}

// describe says in a plain sentence what a monitor does.
func describe(m monitor.Monitor) string {
	what := "A call is to come"
	if t := m.Check.Target(); m.Heartbeat == nil {
		what = t.Verb + clip(t.Told)
	}
	return what + " every " + m.Every.String() + "."
}

// bare is a URL without what may be secret in it.
func bare(text string) string {
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

// addChannel puts a channel into the manifest and answers its name.
func (w *watching) addChannel(e *entry, c alert.Channel) bool {
	c.Namespace = w.Namespace
	c.Description, _ = core.CleanText(c.Description, core.MaxDescription)
	if e.Err != nil {
		return false
	}
	if err := c.WithDefaults().Validate(w.Now); err != nil {
		e.refuse(err)
		return false
	}
	w.channels.taken[c.Name] = true
	w.res.Manifest.Channels = append(w.res.Manifest.Channels, c)
	return true
}

// tell makes a monitor known to the rule that tells a channel of such things.
// No types means those that rules are about anyway.
func (w *watching) tell(monitor, channel string, on []alert.NotificationType, remind core.Duration) {
	key := fmt.Sprintf("%s %v %s", channel, on, remind)
	if w.said[key+" "+monitor] {
		return
	}
	w.said[key+" "+monitor] = true
	rule := w.lastTell[key]
	if rule == nil || len(rule.Monitors) == alert.MaxRuleTargets {
		rule = &alert.Rule{On: on, Channels: []string{channel}, Remind: remind}
		w.tellings, w.lastTell[key] = append(w.tellings, rule), rule
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

// rest puts a monitor into the window with these times, which is made when
// there is none. Without a monitor the window is for all of them. It answers
// the name of the window.
func (w *watching) rest(window monitor.Window, m string) string {
	key := fmt.Sprint(window.Rules[0].Cron, window.Lasts, window.Zone, m == "")
	p := w.lastPause[key]
	if p == nil || len(p.Monitors) == monitor.MaxWindowTargets {
		p = &window
		p.Namespace, p.Name = w.Namespace, w.windows.free("maintenance")
		w.windows.taken[p.Name] = true
		w.pauses, w.lastPause[key] = append(w.pauses, p), p
	}
	if m == "" {
		w.pausesAll = true
	} else {
		p.Monitors = withLast(p.Monitors, m)
	}
	return p.Name
}

// finish writes what depends on all entries, and puts these into the order of
// the file.
func (w *watching) finish(what string) (Result, error) {
	for _, rule := range w.tellings {
		rule.Namespace, rule.Name = w.Namespace, w.rules.free(rule.Channels[0])
		w.rules.taken[rule.Name] = true
		w.res.Manifest.AlertRules = append(w.res.Manifest.AlertRules, *rule)
	}
	for _, p := range w.pauses {
		w.res.Manifest.Windows = append(w.res.Manifest.Windows, *p)
	}
	if len(w.res.Lines) > MaxLines {
		return Result{}, core.Errorf(core.TooLarge, "the file has more than %d %s", MaxLines, what).WithHint("split it")
	}
	slices.SortStableFunc(w.res.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.Number, b.Number))
	})
	return w.res, nil
}

// tags are the tags that texts become, each once.
func tags(texts ...string) []string {
	var list []string
	for _, text := range texts {
		if tag := stem(text, ""); tag != "" && !slices.Contains(list, tag) && len(list) < core.MaxTags {
			list = append(list, tag)
		}
	}
	return list
}

// describeName is a description for a monitor whose name could not stay as it
// was.
func describeName(made, was, more string) string {
	if made == was {
		return more
	}
	if more == "" || more == was {
		return was
	}
	return was + ": " + more
}

// splitUser takes the user and password out of a URL, where a monitor may not
// have them.
func splitUser(text string) (string, *task.HTTPAuth) {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text, nil
	}
	password, _ := u.User.Password()
	a := &task.HTTPAuth{User: u.User.Username(), Password: core.Secret(password)}
	u.User = nil
	return u.String(), a
}

// hostOf is a name for a target.
func hostOf(text string) string {
	if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return text
}
