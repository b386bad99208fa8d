package crontab

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Crontab reads a whole crontab of Vixie cron and its heirs (cronie, Debian,
// the BSDs). An error is about the file as a whole: it is too large, or it is
// unclear whether its lines name users. Everything else is in the lines.
//
// Variables count from their line on. CRON_TZ moves the times, TZ only the
// command, as in cronie. An unescaped % ends the command; the text after it is
// its standard input, one line for each % more.
func Crontab(r io.Reader, o base.Options) (base.Result, error) {
	o, err := o.Prepare()
	if err != nil {
		return base.Result{}, err
	}
	text, err := base.ReadAll(r)
	if err != nil {
		return base.Result{}, err
	}
	c := &crontab{Builder: base.NewBuilder(o), vars: map[string]string{}, zone: o.Zone}
	lines := strings.Split(string(text), "\n")
	if len(lines) > base.MaxLines+1 {
		return base.Result{}, core.Errorf(core.TooLarge, "the crontab has more than %d lines", base.MaxLines).WithHint("split it")
	}
	if c.system, err = isSystem(o.Format, lines); err != nil {
		return base.Result{}, err
	}
	for i, line := range lines {
		c.line(i+1, strings.TrimSuffix(line, "\r"))
	}
	c.fileNotes()
	return c.Res, nil
}

// crontab is a file while it is read.
type crontab struct {
	*base.Builder
	system bool
	vars   map[string]string // variables set by the lines so far
	size   int               // bytes of them
	zone   string
	zoned  bool          // CRON_TZ has been set
	delay  core.Duration // RANDOM_DELAY
	unread bool          // an entry was read in the zone of the options
}

func (c *crontab) line(number int, text string) {
	start := skipBlank(text, 0)
	if start == len(text) || text[start] == '#' {
		return
	}
	shown, _ := core.CleanText(text[start:], 1000)
	l := &base.Line{Number: number, Text: shown}
	at := tree.Place{Line: number, Column: start + 1}
	switch name, value, isVar := variable(text[start:]); {
	case !base.Plain(text):
		l.Fault(at, "", "", "has bytes that are not text", "save the file as UTF-8")
		c.Res.Lines = append(c.Res.Lines, *l)
	case isVar:
		if c.set(l, at, name, value); l.Err != nil {
			c.Res.Lines = append(c.Res.Lines, *l)
		}
	default:
		c.entry(l, text, start)
	}
}

// variableRule is an assignment. A quote around a name or value may be single
// or double; without quotes the blanks around are dropped.
var variableRule = regexp.MustCompile(`^("[^"]*"|'[^']*'|[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*?)[ \t]*$`)

func variable(text string) (name, value string, ok bool) {
	m := variableRule.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return unquote(m[1]), unquote(m[2]), true
}

func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

// set takes over an assignment.
func (c *crontab) set(l *base.Line, at tree.Place, name, value string) {
	switch name {
	case "CRON_TZ":
		c.setZone(l, at, value)
	case "RANDOM_DELAY":
		minutes, err := strconv.ParseUint(value, 10, 16)
		if err != nil || minutes > 24*60 {
			l.Fault(at, name, value, "is not a number of minutes up to 1440", "")
			return
		}
		c.delay = core.Duration(minutes) * core.Duration(time.Minute)
	case "MAILTO":
		if value != "" {
			c.Notef("line %d: MAILTO is not carried over: Belfry sends no mail; what a command writes is in its job's log", at.Line)
		}
	case "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "START_HOURS_RANGE":
		c.Notef("line %d: %s is not carried over", at.Line, name)
	default:
		if err := base.CheckVariable(name); err != "" {
			l.Fault(at, "variable", name, err, "")
			return
		}
		if name == "TZ" {
			c.Notef("line %d: TZ is given to commands and moves no times, as in cron; CRON_TZ would", at.Line)
		}
		if old, set := c.vars[name]; set {
			c.size -= len(name) + len(old)
		}
		c.size += len(name) + len(value)
		c.vars[name] = value
	}
}

func (c *crontab) setZone(l *base.Line, at tree.Place, value string) {
	c.zone, c.zoned = c.Options.Zone, false
	if value == "" {
		return
	}
	zone, _, more := strings.Cut(value, " ")
	if _, err := cron.LoadZone(value); err != nil {
		l.CronFault(tree.Place{Line: at.Line}, err)
		l.Column = at.Column
		if _, err := cron.LoadZone(zone); more && err == nil {
			l.Err.Message, l.Err.Hint = "is a zone and more", "CRON_TZ stands on a line of its own, before the lines it is for"
		}
		return
	}
	c.zone, c.zoned = value, true
}

func (c *crontab) parseOptions() cron.Options {
	zone, _ := cron.LoadZone(c.zone) // it was loaded when it was set
	return cron.Options{Zone: zone, After: c.Now}
}

// freeBSD are the macros of FreeBSD beside the usual ones.
var freeBSD = map[string]string{"@every_minute": "* * * * *", "@every_second": "* * * * * *"}

// rules is the times of an entry, or nil and a fault.
func (c *crontab) rules(l *base.Line, e entryParts) []schedule.Rule {
	text := e.when
	if word := strings.ToLower(text); word[0] == '@' {
		if known := freeBSD[word]; known != "" {
			return []schedule.Rule{{Cron: known}}
		}
		if n, err := strconv.ParseUint(word[1:], 10, 31); err == nil {
			if n == 0 {
				l.Fault(e.whenAt, "macro", text, "is no time between runs", "such as @600, which runs it ten minutes after it ended")
				return nil
			}
			return []schedule.Rule{{Every: core.Duration(n) * core.Duration(time.Second), Anchor: schedule.AnchorFinish}}
		}
		if strings.HasPrefix(word, "@every") {
			l.Notef("the interval counts from a fixed instant, so that it does not shift when something restarts")
		}
	}
	text, hashed := spread(text)
	if hashed {
		l.Notef("the random choice of ~ is made once and for all, by the name of the schedule")
		e.whenAt.Column = 0 // the columns are those of another text
	}
	if _, err := cron.Parse(text, c.parseOptions()); err != nil {
		if e.whenAt.Column == 0 {
			l.CronFault(e.whenAt, err)
			l.Column = 1
			return nil
		}
		l.CronFault(e.whenAt, err)
		return nil
	}
	return []schedule.Rule{{Cron: strings.Join(strings.Fields(text), " ")}}
}

// spread writes the random ranges of cronie and OpenBSD, a~b, as the hashes
// that Belfry has for the same purpose.
func spread(when string) (text string, changed bool) {
	if !strings.Contains(when, "~") || when[0] == '@' {
		return when, false
	}
	bounds := [][2]string{{"0", "59"}, {"0", "23"}, {"1", "31"}, {"1", "12"}, {"0", "6"}}
	words := strings.Fields(when)
	for i, word := range words {
		items := strings.Split(word, ",")
		for j, item := range items {
			span, step, stepped := strings.Cut(item, "/")
			from, to, random := strings.Cut(span, "~")
			if !random || i >= len(bounds) {
				continue
			}
			items[j] = "H"
			if from != "" || to != "" {
				items[j] = fmt.Sprintf("H(%s-%s)", base.OrWord(from, bounds[i][0]), base.OrWord(to, bounds[i][1]))
			}
			if stepped {
				items[j] += "/" + step
			}
		}
		words[i] = strings.Join(items, ",")
	}
	return strings.Join(words, " "), true
}

// task is the task of an entry.
func (c *crontab) task(l *base.Line, e entryParts) task.Task {
	command, stdin, cut := percent(e.command)
	if cut {
		l.Notef("the first %% ends the command, and what follows is its standard input, as in cron; write \\%% where the command is to have it")
	}
	if strings.HasSuffix(command, "\\") {
		l.Notef("cron has no continued lines: the shell gets the \\ at the end")
	}
	if e.user != "" {
		l.Notef("cron runs it as %s, Belfry as the user of the worker", e.user)
	}
	cmd := task.Command{Shell: command, Stdin: stdin}
	if c.Grown += c.size; c.Grown > base.MaxGrown {
		l.Fault(e.commandAt, "command", "", "has so many variables before it that the file becomes too large", "split the file")
	} else if len(c.vars) > 0 {
		cmd.Env = maps.Clone(c.vars)
	}
	if shell := c.vars["SHELL"]; shell != "" && shell != "/bin/sh" {
		cmd.Shell, cmd.Argv = "", []string{shell, "-c", command}
	}
	if home := c.vars["HOME"]; strings.HasPrefix(home, "/") {
		cmd.Dir = home // where cron starts it
	}
	return task.Task{
		Command: &cmd,
		// Cron ends nothing and tries nothing again.
		Timeout: task.MaxTimeout,
		Retry:   task.Retry{MaxAttempts: 1},
	}
}

// percent cuts a command at its first %, and reads the text after it as cron does:
// \% is %, % is a line break, and \ before anything else is itself.
func percent(text string) (command, stdin string, cut bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\\' && i+1 < len(text):
			if i++; text[i] != '%' {
				b.WriteByte('\\')
			}
			b.WriteByte(text[i])
		case ch == '%':
			return b.String(), input(text[i+1:]), true
		default:
			b.WriteByte(ch)
		}
	}
	return b.String(), "", false
}

func input(text string) string {
	const held = "\x00" // lines with this byte are refused before
	text = strings.ReplaceAll(text, `\%`, held)
	text = strings.ReplaceAll(text, "%", "\n")
	text = strings.ReplaceAll(text, held, "%")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// fileNotes adds, once, the notes that hold for every line.
func (c *crontab) fileNotes() {
	if len(c.Res.Manifest.Tasks) == 0 {
		return
	}
	if c.unread && c.Zone == "UTC" {
		c.Notef("times are read in UTC where no CRON_TZ is set; cron reads them in the zone of its machine")
	}
	where := ""
	if c.vars["HOME"] == "" {
		where = ", in a fresh empty directory and not in a home"
	}
	c.Notef("commands run on a worker that allows them, as its user%s", where)
	c.Notef("as in cron, runs may overlap, are not retried, and are not made up for when they were missed")
}
