package intake

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/cron"
)

// Crontab reads a whole crontab of Vixie cron and its heirs (cronie, Debian,
// the BSDs). An error is about the file as a whole: it is too large, or nobody
// can tell whether its lines name users. Everything else is in the lines.
//
// Variables count from where they are set. CRON_TZ moves the times, TZ only
// the command, as in cronie. An unescaped % ends the command; what follows is
// its standard input, one line for each % more.
func Crontab(r io.Reader, o Options) (Result, error) {
	o, err := o.prepare()
	if err != nil {
		return Result{}, err
	}
	text, err := readAll(r)
	if err != nil {
		return Result{}, err
	}
	c := &crontab{builder: newBuilder(o), vars: map[string]string{}, zone: o.Zone}
	lines := strings.Split(string(text), "\n")
	if len(lines) > MaxLines+1 {
		return Result{}, belfry.Errorf(belfry.TooLarge, "the crontab has more than %d lines", MaxLines).WithHint("split it")
	}
	if c.system, err = isSystem(o.Format, lines); err != nil {
		return Result{}, err
	}
	for i, line := range lines {
		c.line(i+1, strings.TrimSuffix(line, "\r"))
	}
	c.fileNotes()
	return c.res, nil
}

// crontab is a file while it is read.
type crontab struct {
	*builder
	system bool
	vars   map[string]string // what the lines so far have set
	size   int               // bytes of them
	zone   string
	zoned  bool            // CRON_TZ has been set
	delay  belfry.Duration // RANDOM_DELAY
	unread bool            // an entry was read in the zone of the options
}

func (c *crontab) line(number int, text string) {
	start := skipBlank(text, 0)
	if start == len(text) || text[start] == '#' {
		return
	}
	shown, _ := belfry.CleanText(text[start:], 1000)
	l := &Line{Number: number, Text: shown}
	at := place{number, start + 1}
	switch name, value, isVar := variable(text[start:]); {
	case !plain(text):
		l.fault(at, "", "", "has bytes that are not text", "save the file as UTF-8")
		c.res.Lines = append(c.res.Lines, *l)
	case isVar:
		if c.set(l, at, name, value); l.Err != nil {
			c.res.Lines = append(c.res.Lines, *l)
		}
	default:
		c.entry(l, text, start)
	}
}

// variableRule is an assignment. A quote around a name or value may be single
// or double; what is not quoted loses the blanks around it.
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
func (c *crontab) set(l *Line, at place, name, value string) {
	switch name {
	case "CRON_TZ":
		c.setZone(l, at, value)
	case "RANDOM_DELAY":
		minutes, err := strconv.ParseUint(value, 10, 16)
		if err != nil || minutes > 24*60 {
			l.fault(at, name, value, "is not a number of minutes up to 1440", "")
			return
		}
		c.delay = belfry.Duration(minutes) * belfry.Duration(time.Minute)
	case "MAILTO":
		if value != "" {
			c.notef("line %d: MAILTO is not carried over: Belfry sends no mail; what a command writes is in its job's log", at.line)
		}
	case "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "START_HOURS_RANGE":
		c.notef("line %d: %s is not carried over", at.line, name)
	default:
		if err := checkVariable(name); err != "" {
			l.fault(at, "variable", name, err, "")
			return
		}
		if name == "TZ" {
			c.notef("line %d: TZ is given to commands and moves no times, as in cron; CRON_TZ would", at.line)
		}
		if old, set := c.vars[name]; set {
			c.size -= len(name) + len(old)
		}
		c.size += len(name) + len(value)
		c.vars[name] = value
	}
}

func (c *crontab) setZone(l *Line, at place, value string) {
	c.zone, c.zoned = c.Options.Zone, false
	if value == "" {
		return
	}
	zone, _, more := strings.Cut(value, " ")
	if _, err := cron.LoadZone(value); err != nil {
		l.cronFault(place{line: at.line}, err)
		l.Column = at.column
		if _, err := cron.LoadZone(zone); more && err == nil {
			l.Err.Message, l.Err.Hint = "is a zone and more", "CRON_TZ stands on a line of its own, before the lines it is for"
		}
		return
	}
	c.zone, c.zoned = value, true
}

// checkVariable says why a variable cannot be set for a command, or nothing.
func checkVariable(name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return "is not the name of an environment variable"
	case strings.HasPrefix(name, "BELFRY_"):
		return "is reserved: names that start with BELFRY_ are set by the worker"
	}
	return ""
}

// entry is a line with times and a command.
func (c *crontab) entry(l *Line, text string, start int) {
	e, ok := c.split(l, text, start)
	s := belfry.Schedule{
		// What cron does: it starts at its time or never, whatever runs.
		Zone: c.zone, Overlap: belfry.OverlapAllow, Catchup: belfry.CatchupNone, Jitter: c.delay,
	}
	if ok {
		if e.single {
			s.Overlap = belfry.OverlapSkip
		}
		t := c.task(l, e)
		t.Name = c.sharedName(t, commandSlug(e.command))
		s.Name, s.Task = c.schedules.free(commandSlug(e.command)), t.Name
		at := place{l.Number, start + 1}
		if s.Rules = c.rules(l, e); s.Rules != nil && c.explain(l, s, at) {
			c.unread = c.unread || !c.zoned
		}
		c.add(l, at, t, s)
		return
	}
	c.res.Lines = append(c.res.Lines, *l)
}

// entryParts is a line cut into its parts, and the columns they begin in.
type entryParts struct {
	when      string
	whenAt    place
	user      string
	command   string
	commandAt place
	single    bool // OpenBSD's -s: not while the one before runs
}

// split cuts a line. Faults go to l.
func (c *crontab) split(l *Line, text string, start int) (e entryParts, ok bool) {
	if text[start] == '-' && start+1 < len(text) && text[start+1] != ' ' { // cronie: no line in the syslog
		start++
	}
	words := timeWords(text[start:])
	end := wordsEnd(text, start, words)
	e.when, e.whenAt = text[start:end], place{l.Number, start + 1}
	next := skipBlank(text, end)
	if next == len(text) {
		_, err := cron.Parse(e.when, c.parseOptions())
		if err != nil && len(strings.Fields(e.when)) == words { // the times are worth a better word than the missing command
			l.cronFault(e.whenAt, err)
		}
		l.fault(place{l.Number, len(text) + 1}, "command", "", "is missing", "a line is minute, hour, day of month, month, weekday and a command")
		return e, false
	}
	if c.system {
		end = wordsEnd(text, next, 1)
		e.user = text[next:end]
		if !userRule.MatchString(e.user) {
			l.fault(place{l.Number, next + 1}, "user", e.user, "is not the name of a user", "a line of a system crontab names a user before its command; is this a user's crontab?")
			return e, false
		}
		if next = skipBlank(text, end); next == len(text) {
			l.fault(place{l.Number, len(text) + 1}, "command", "", "is missing", "it stands after the user "+e.user)
			return e, false
		}
	}
	next = c.flags(l, &e, text, next)
	e.command, e.commandAt = strings.TrimRight(text[next:], " \t"), place{l.Number, next + 1}
	if word, _, _ := strings.Cut(e.command, " "); timeLike(word) {
		l.fault(e.commandAt, "command", word, "is a sixth field, and a crontab has five", "leave out the seconds at the front, or the year at the end")
		return e, false
	}
	if e.command == "" {
		l.fault(e.commandAt, "command", "", "is missing", "")
		return e, false
	}
	return e, true
}

// flags takes off what the BSDs allow in front of a command.
func (c *crontab) flags(l *Line, e *entryParts, text string, at int) int {
	for at+2 < len(text) && text[at] == '-' && strings.IndexByte("nqs", text[at+1]) >= 0 && text[at+2] == ' ' {
		if text[at+1] == 's' {
			e.single = true
		} else {
			l.notef("-%c is about mail and syslog, and left out", text[at+1])
		}
		at = skipBlank(text, at+2)
	}
	return at
}

var timeLikeRule = regexp.MustCompile(`^(\*|\?|\*/[0-9]+)$`)

func timeLike(word string) bool { return timeLikeRule.MatchString(word) }

// timeWords is how many words of an entry say when.
func timeWords(text string) int {
	if text[0] != '@' {
		return 5
	}
	if strings.EqualFold(text[:wordsEnd(text, 0, 1)], "@every") {
		return 2
	}
	return 1
}

// wordsEnd is the offset behind the n-th word from start on, or the end.
func wordsEnd(text string, start, n int) int {
	at := start
	for range n {
		at = skipBlank(text, at)
		if at == len(text) {
			return len(strings.TrimRight(text, " \t"))
		}
		for at < len(text) && text[at] != ' ' && text[at] != '\t' {
			at++
		}
	}
	return at
}

func skipBlank(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

func (c *crontab) parseOptions() cron.Options {
	zone, _ := cron.LoadZone(c.zone) // it was loaded when it was set
	return cron.Options{Zone: zone, After: c.Now}
}

// freeBSD is what FreeBSD has beside the usual macros.
var freeBSD = map[string]string{"@every_minute": "* * * * *", "@every_second": "* * * * * *"}

// rules is the times of an entry, or nil and a fault.
func (c *crontab) rules(l *Line, e entryParts) []belfry.Rule {
	text := e.when
	if word := strings.ToLower(text); word[0] == '@' {
		if known := freeBSD[word]; known != "" {
			return []belfry.Rule{{Cron: known}}
		}
		if n, err := strconv.ParseUint(word[1:], 10, 31); err == nil {
			if n == 0 {
				l.fault(e.whenAt, "macro", text, "is no time between runs", "such as @600, which runs it ten minutes after it ended")
				return nil
			}
			return []belfry.Rule{{Every: belfry.Duration(n) * belfry.Duration(time.Second), Anchor: belfry.AnchorFinish}}
		}
		if strings.HasPrefix(word, "@every") {
			l.notef("the interval counts from a fixed instant, so that it does not shift when something restarts")
		}
	}
	text, hashed := spread(text)
	if hashed {
		l.notef("the random choice of ~ is made once and for all, by the name of the schedule")
		e.whenAt.column = 0 // the columns are those of another text
	}
	if _, err := cron.Parse(text, c.parseOptions()); err != nil {
		if e.whenAt.column == 0 {
			l.cronFault(e.whenAt, err)
			l.Column = 1
			return nil
		}
		l.cronFault(e.whenAt, err)
		return nil
	}
	return []belfry.Rule{{Cron: strings.Join(strings.Fields(text), " ")}}
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
				items[j] = fmt.Sprintf("H(%s-%s)", orWord(from, bounds[i][0]), orWord(to, bounds[i][1]))
			}
			if stepped {
				items[j] += "/" + step
			}
		}
		words[i] = strings.Join(items, ",")
	}
	return strings.Join(words, " "), true
}

func orWord(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

// task is what an entry runs.
func (c *crontab) task(l *Line, e entryParts) belfry.Task {
	command, stdin, cut := percent(e.command)
	if cut {
		l.notef("the first %% ends the command, and what follows is its standard input, as in cron; write \\%% where the command is to have it")
	}
	if strings.HasSuffix(command, "\\") {
		l.notef("cron has no continued lines: the shell gets the \\ at the end")
	}
	if e.user != "" {
		l.notef("cron runs it as %s, Belfry as the user of the worker", e.user)
	}
	cmd := belfry.Command{Shell: command, Stdin: stdin}
	if c.grown += c.size; c.grown > maxGrown {
		l.fault(e.commandAt, "command", "", "has so many variables before it that the file becomes too large", "split the file")
	} else if len(c.vars) > 0 {
		cmd.Env = maps.Clone(c.vars)
	}
	if shell := c.vars["SHELL"]; shell != "" && shell != "/bin/sh" {
		cmd.Shell, cmd.Argv = "", []string{shell, "-c", command}
	}
	if home := c.vars["HOME"]; strings.HasPrefix(home, "/") {
		cmd.Dir = home // where cron starts it
	}
	return belfry.Task{
		Command: &cmd,
		// Cron ends nothing and tries nothing again.
		Timeout: belfry.MaxTimeout,
		Retry:   belfry.Retry{MaxAttempts: 1},
	}
}

// percent cuts a command at its first % and writes what follows as cron does:
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

// fileNotes says once what is true of every line.
func (c *crontab) fileNotes() {
	if len(c.res.Manifest.Tasks) == 0 {
		return
	}
	if c.unread && c.Zone == "UTC" {
		c.notef("times are read in UTC where no CRON_TZ is set; cron reads them in the zone of its machine")
	}
	where := ""
	if c.vars["HOME"] == "" {
		where = ", in a fresh empty directory and not in a home"
	}
	c.notef("commands run on a worker that allows them, as its user%s", where)
	c.notef("as in cron, runs may overlap, are not retried, and are not made up for when they were missed")
}

// isSystem finds out whether lines name a user before their command.
func isSystem(f Format, lines []string) (bool, error) {
	if f != "" {
		return f == FormatSystem, nil
	}
	var user, system, open []int // lines that speak for either, and for neither
	for i, line := range lines {
		switch userColumn(strings.TrimSuffix(line, "\r")) {
		case certainlyNot:
			user = append(user, i)
		case certainly:
			system = append(system, i)
		case perhaps:
			open = append(open, i)
		}
	}
	switch {
	case len(system) > 0 && len(user) > 0:
		return false, ambiguous(fmt.Sprintf("line %d names a user before its command, line %d does not", system[0]+1, user[0]+1))
	case len(user) > 0 || len(open) == 0 && len(system) == 0:
		return false, nil
	case len(system) > 0:
		return true, nil
	}
	text := strings.TrimSpace(lines[open[0]])
	rest := strings.TrimSpace(text[wordsEnd(text, 0, timeWords(text)):])
	name, command, _ := strings.Cut(rest, " ")
	rest, _ = belfry.CleanText(rest, 60)
	command, _ = belfry.CleanText(strings.TrimSpace(command), 60)
	return false, ambiguous(fmt.Sprintf("line %d runs %q (a user's crontab), or %q as the user %s (a system crontab)", open[0]+1, rest, command, name))
}

func ambiguous(why string) error {
	return belfry.InvalidField("format", "", "the file can be read in two ways: "+why,
		"say which: user for what crontab -l prints, system for /etc/crontab and /etc/cron.d")
}

// belief is how sure it is that a line names a user.
type belief int

const (
	noEntry belief = iota
	certainlyNot
	certainly
	perhaps
)

var userRule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?$`)

// users are accounts that no command is named after.
var users = words("root www-data nobody daemon postgres mysql apache nginx httpd redis munin nagios zabbix jenkins ubuntu debian admin " +
	"ec2-user centos vagrant git-data www systemd-network smmsp logcheck list-data amavis debian-spamd")

// commands are programs and shell words that no account is named after.
var commands = words("awk bash bzip2 cat cd certbot chmod chown chronic command cp curl cut date dd df docker du echo env eval exec export false find flock " +
	"for free grep gzip if ionice java kill killall logger logrotate ls make mkdir mv mysqldump nice node nohup npm perl pg_dump php pkill " +
	"printf ps python python2 python3 rm rsync ruby run-one run-parts sed service sh sleep sudo systemctl tar tee test time timeout touch " +
	"true truncate umask wget while xargs zsh")

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// userColumn judges one line.
func userColumn(line string) belief {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return noEntry
	}
	if _, _, isVar := variable(line); isVar {
		return noEntry
	}
	line = strings.TrimPrefix(line, "-")
	if line == "" {
		return noEntry
	}
	rest := strings.Fields(line[wordsEnd(line, 0, timeWords(line)):])
	switch {
	case len(rest) == 0 || timeLike(rest[0]): // faulty in both
		return noEntry
	case len(rest) == 1, !userRule.MatchString(rest[0]), commands[rest[0]], strings.ContainsAny(rest[0], "."):
		return certainlyNot
	case strings.ContainsAny(rest[1][:1], `->|&;<"'%`) || strings.ContainsAny(rest[1][:1], "0123456789"):
		return certainlyNot // no command begins like that
	case users[rest[0]]:
		return certainly
	}
	return perhaps
}

// commandSlug is a name for what a command does: the program, without the
// shell words and wrappers around it, and what it is told first.
func commandSlug(command string) string {
	command, _, _ = percent(command)
	var parts []string
	list := strings.Fields(strings.NewReplacer(";", " ; ", "(", " ", ")", " ", "{", " ", "}", " ", "`", " ").Replace(cutText(command, 2000)))
	for i := 0; i < len(list) && len(parts) < 3; i++ {
		word := strings.Trim(list[i], `"'`)
		switch {
		case strings.ContainsAny(word, "|&;<>") && len(parts) > 0:
			i = len(list)
		case len(parts) == 0 && slices.Contains([]string{"cd", "test", "[", "[[", "sleep", "command", "umask", "export", ".", "source", "if", "set"}, word):
			for i+1 < len(list) && !strings.ContainsAny(list[i], ";") && list[i] != "&&" && list[i] != "||" {
				i++
			}
		case len(parts) == 0 && (word == "-u" || word == "-g"): // sudo: as whom
			i++
		case word == "" || word[0] == '-' || word[0] == '$' || strings.ContainsAny(word, "|&;<>="):
		case len(parts) == 0 && (wrappers[word[strings.LastIndexByte(word, '/')+1:]] || durationRule.MatchString(word)):
			if strings.HasSuffix(word, "flock") { // its file follows
				for i+1 < len(list) && list[i+1][0] == '-' {
					i++
				}
				i++
			}
		default:
			if p := slug(baseName(word)); p != "" {
				parts = append(parts, p)
			}
		}
	}
	return orWord(cutText(strings.Join(parts, "-"), 60), "command")
}

var durationRule = regexp.MustCompile(`^[0-9]+[smhd]?$`)

// wrappers run another program, which is the one to be named.
var wrappers = words("sudo nice ionice nohup exec time chronic env eatmydata timeout flock run-one then do sh bash dash zsh php python python2 python3 perl ruby node setsid systemd-cat")

// baseName is the last part of a path, without what says the language.
func baseName(word string) string {
	word = strings.TrimRight(word, "/")
	word = word[strings.LastIndexByte(word, '/')+1:]
	for _, ext := range []string{".sh", ".bash", ".py", ".pl", ".rb", ".php", ".js"} {
		if len(word) > len(ext) {
			word = strings.TrimSuffix(word, ext)
		}
	}
	return word
}

// slug writes a text as a part of a name.
func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._", r) {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && s[len(s)-1] != '-' {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-._")
}

// cutText shortens a plain text; what is cut never leaves a bad end of a name.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	short, _ := belfry.CleanText(s, limit)
	return strings.TrimRight(short, "-._")
}
