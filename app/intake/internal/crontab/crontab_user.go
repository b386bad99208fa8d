package crontab

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/core"
)

// isSystem finds out whether lines name a user before their command.
func isSystem(f base.Format, lines []string) (bool, error) {
	if f != "" {
		return f == base.FormatSystem, nil
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
	rest, _ = core.CleanText(rest, 60)
	command, _ = core.CleanText(strings.TrimSpace(command), 60)
	return false, ambiguous(fmt.Sprintf("line %d runs %q (a user's crontab), or %q as the user %s (a system crontab)", open[0]+1, rest, command, name))
}

func ambiguous(why string) error {
	return core.InvalidField("format", "", "the file can be read in two ways: "+why,
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
