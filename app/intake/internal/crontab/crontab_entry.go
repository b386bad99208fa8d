package crontab

import (
	"regexp"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

// entry is a line with times and a command.
func (c *crontab) entry(l *base.Line, text string, start int) {
	e, ok := c.split(l, text, start)
	s := schedule.Schedule{
		// As in cron: it starts at its time or never, also beside an earlier run.
		Zone: c.zone, Overlap: schedule.OverlapAllow, Catchup: schedule.CatchupNone, Jitter: c.delay,
	}
	if ok {
		if e.single {
			s.Overlap = schedule.OverlapSkip
		}
		t := c.task(l, e)
		t.Name = c.SharedName(t, commandSlug(e.command))
		s.Name, s.Task = c.Schedules.Free(commandSlug(e.command)), t.Name
		at := tree.Place{Line: l.Number, Column: start + 1}
		if s.Rules = c.rules(l, e); s.Rules != nil && c.Explain(l, s, at) {
			c.unread = c.unread || !c.zoned
		}
		c.Add(l, at, t, s)
		return
	}
	c.Res.Lines = append(c.Res.Lines, *l)
}

// entryParts is a line cut into its parts, and the columns they begin in.
type entryParts struct {
	when      string
	whenAt    tree.Place
	user      string
	command   string
	commandAt tree.Place
	single    bool // OpenBSD's -s: not while the one before runs
}

// split cuts a line. Faults go to l.
func (c *crontab) split(l *base.Line, text string, start int) (e entryParts, ok bool) {
	if text[start] == '-' && start+1 < len(text) && text[start+1] != ' ' { // cronie: no line in the syslog
		start++
	}
	words := timeWords(text[start:])
	end := wordsEnd(text, start, words)
	e.when, e.whenAt = text[start:end], tree.Place{Line: l.Number, Column: start + 1}
	next := skipBlank(text, end)
	if next == len(text) {
		_, err := cron.Parse(e.when, c.parseOptions())
		if err != nil && len(strings.Fields(e.when)) == words { // the times are worth a better word than the missing command
			l.CronFault(e.whenAt, err)
		}
		l.Fault(tree.Place{Line: l.Number, Column: len(text) + 1}, "command", "", "is missing", "a line is minute, hour, day of month, month, weekday and a command")
		return e, false
	}
	if c.system {
		end = wordsEnd(text, next, 1)
		e.user = text[next:end]
		if !userRule.MatchString(e.user) {
			l.Fault(tree.Place{Line: l.Number, Column: next + 1}, "user", e.user, "is not the name of a user", "a line of a system crontab names a user before its command; is this a user's crontab?")
			return e, false
		}
		if next = skipBlank(text, end); next == len(text) {
			l.Fault(tree.Place{Line: l.Number, Column: len(text) + 1}, "command", "", "is missing", "it stands after the user "+e.user)
			return e, false
		}
	}
	next = c.flags(l, &e, text, next)
	e.command, e.commandAt = strings.TrimRight(text[next:], " \t"), tree.Place{Line: l.Number, Column: next + 1}
	if word, _, _ := strings.Cut(e.command, " "); timeLike(word) {
		l.Fault(e.commandAt, "command", word, "is a sixth field, and a crontab has five", "leave out the seconds at the front, or the year at the end")
		return e, false
	}
	if e.command == "" {
		l.Fault(e.commandAt, "command", "", "is missing", "")
		return e, false
	}
	return e, true
}

// flags cuts off the flags that the BSDs allow in front of a command.
func (c *crontab) flags(l *base.Line, e *entryParts, text string, at int) int {
	for at+2 < len(text) && text[at] == '-' && strings.IndexByte("nqs", text[at+1]) >= 0 && text[at+2] == ' ' {
		if text[at+1] == 's' {
			e.single = true
		} else {
			l.Notef("-%c is about mail and syslog, and left out", text[at+1])
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
