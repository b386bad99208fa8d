package intake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/intake"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// debian is /etc/crontab as Debian installs it.
const debian = `# /etc/crontab: system-wide crontab
SHELL=/bin/sh
# You can also override PATH, but by default, newer versions inherit it from the environment
#PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin

# Example of job definition:
# .---------------- minute (0 - 59)
# *  *  *  *  * user-name command to be executed
17 *	* * *	root	cd / && run-parts --report /etc/cron.hourly
25 6	* * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
47 6	* * 7	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }
52 6	1 * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }
#
`

// packages is what packages put into /etc/cron.d.
const packages = `PATH=/usr/lib/sysstat:/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin
5-55/10 * * * * root command -v debian-sa1 > /dev/null && debian-sa1 1 1
0 */12 * * * root test -x /usr/bin/certbot -a \! -d /run/systemd/system && perl -e 'sleep int(rand(43200))' && certbot -q renew
09,39 *     * * *     root   [ -x /usr/lib/php/sessionclean ] && if [ ! -d /run/systemd/system ]; then /usr/lib/php/sessionclean; fi
57 0 * * 0 root if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\%d) -le 7 ]; then /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi
30 3 * * 0 root test -e /run/systemd/system || SERVICE_MODE=1 /usr/lib/x86_64-linux-gnu/e2fsprogs/e2scrub_all_cron
@daily   www-data  /usr/bin/php -f /var/www/nextcloud/cron.php
`

// personal is what a person writes over the years.
const personal = `# m h  dom mon dow   command
SHELL=/bin/bash
PATH = "/usr/local/bin:/usr/bin:/bin"
MAILTO='ops@example.com'
HOME=/home/deploy

0 5 * * 1 tar -zcf /var/backups/home.tgz /home/
* * * * * cd /var/www/app && php artisan schedule:run >> /dev/null 2>&1
*/15 9-17 * * mon-fri /usr/bin/flock -n /tmp/sync.lock /home/deploy/bin/sync.sh --fast
30 2 * * * pg_dump shop | gzip > /backup/shop-$(date +\%Y-\%m-\%d).sql.gz
0 8 1 jan,JUL * /usr/bin/env FOO=bar python3 /opt/report.py "half year"
0 12 * * * mail -s lunch bob@example.com%Dear Bob,%%lunch at 100\%?
@hourly sudo -u www-data nice -n 19 /opt/clean.pl
0 7 * * * /opt/report.sh
0 19 * * * /opt/report.sh
CRON_TZ=America/New_York
0 9 * * 1-5 /opt/open.sh
CRON_TZ=
0 9 * * 1-5 /opt/close.sh
`

func TestRealCrontabs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string // number, schedule, task, what it means
	}{
		{"debian", debian, []string{
			"9 run-parts-cron.hourly run-parts-cron.hourly Every hour at minute 17, UTC time.",
			"10 run-parts-cron.daily run-parts-cron.daily At 06:25 every day, UTC time.",
			"11 run-parts-cron.weekly run-parts-cron.weekly At 06:47 on Sunday, UTC time.",
			"12 run-parts-cron.monthly run-parts-cron.monthly At 06:52 on day 1 of the month, UTC time.",
		}},
		{"packages", packages, []string{
			"2 debian-sa1-1-1 debian-sa1-1-1 Every 10 minutes from minute 5 on, UTC time.",
			"3 certbot-renew certbot-renew At 00:00 and 12:00, UTC time.",
			"4 sessionclean sessionclean Every hour at minute 9 and 39, UTC time.",
			"5 checkarray checkarray At 00:57 on Sunday, UTC time.",
			"6 e2scrub_all_cron e2scrub_all_cron At 03:30 on Sunday, UTC time.",
			"7 cron cron At 00:00 every day, UTC time.",
		}},
		{"personal", personal, []string{
			"7 tar-home.tgz-home tar-home.tgz-home At 05:00 on Monday, UTC time.",
			"8 artisan-schedule-run artisan-schedule-run Every minute, UTC time.",
			"9 sync sync Every 15 minutes from 09:00 to 17:59 on Monday to Friday, UTC time.",
			"10 pg_dump-shop pg_dump-shop At 02:30 every day, UTC time.",
			"11 report-half-year report-half-year At 08:00 on day 1 of the month in January and July, UTC time.",
			"12 mail-lunch-bob-example.com mail-lunch-bob-example.com At 12:00 every day, UTC time.",
			"13 clean clean Every hour on the hour, UTC time.",
			"14 report report At 07:00 every day, UTC time.",
			"15 report-2 report At 19:00 every day, UTC time.",
			"17 open open At 09:00 on Monday to Friday, America/New_York time.",
			"19 close close At 09:00 on Monday to Friday, UTC time.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := crontab(t, c.text, intake.Options{})
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range r.Lines {
				got = append(got, fmt.Sprintf("%d %s %s %s", l.Number, l.Schedule, l.Task, l.Means))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
			stable(t, r.Manifest)
			again := crontab(t, strings.ReplaceAll(c.text, "\n", "\r\n"), intake.Options{})
			same(t, "with the line ends of Windows", again.Manifest, r.Manifest)
		})
	}
}

func TestAnEntryBehavesAsItDidInCron(t *testing.T) {
	t.Parallel()
	r := crontab(t, personal, intake.Options{Queue: "old", Namespace: "ops"})
	tk := taskOf(t, r, "report")
	same(t, "task", tk, task.Task{
		Namespace: "ops", Name: "report", Queue: "old", Timeout: task.MaxTimeout, Retry: task.Retry{MaxAttempts: 1},
		Command: &task.Command{
			Argv: []string{"/bin/bash", "-c", "/opt/report.sh"}, Dir: "/home/deploy",
			Env: map[string]string{"SHELL": "/bin/bash", "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/deploy"},
		},
	})
	same(t, "schedule", scheduleOf(t, r, "report-2"), schedule.Schedule{
		Namespace: "ops", Name: "report-2", Task: "report", Zone: "UTC", Rules: []schedule.Rule{{Cron: "0 19 * * *"}},
		Overlap: schedule.OverlapAllow, Catchup: schedule.CatchupNone,
	})
	same(t, "next", line(t, r, 17).Next[0].UTC(), time.Date(2026, 2, 2, 14, 0, 0, 0, time.UTC))
	for _, want := range []string{"line 4: MAILTO is not carried over", "read in UTC", "commands run on a worker", "are not retried"} {
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("nothing is said of %q: %q", want, r.Notes)
		}
	}
}

func TestPercentSigns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, command, stdin string }{
		{`date +\%F`, `date +%F`, ""},
		{`date +%F`, `date +`, "F\n"},
		{`cat%`, `cat`, ""},
		{`cat%a%b`, `cat`, "a\nb\n"},
		{`cat%a%b%`, `cat`, "a\nb\n"},
		{`cat%%`, `cat`, "\n"},
		{`cat%100\%`, `cat`, "100%\n"},
		{`echo a\\b \x`, `echo a\\b \x`, ""},
		{`echo \\%in`, `echo \\`, "in\n"},
		{`echo a\`, `echo a\`, ""},
	} {
		r := crontab(t, "0 0 * * * "+c.text, intake.Options{Format: intake.FormatUser})
		if len(r.Manifest.Tasks) != 1 {
			t.Errorf("%s: %v", c.text, r.Err())
			continue
		}
		if got := r.Manifest.Tasks[0].Command; got.Shell != c.command || got.Stdin != c.stdin {
			t.Errorf("%s: %q with %q, want %q with %q", c.text, got.Shell, got.Stdin, c.command, c.stdin)
		}
	}
}

func TestLinesOfACrontab(t *testing.T) {
	t.Parallel()
	const user, system = intake.FormatUser, intake.FormatSystem
	for _, c := range []struct {
		format intake.Format
		text   string
		rule   string // what it became; or
		fault  string // what is wrong with it
		note   string
	}{
		{user, "0 0 * * * x", "0 0 * * *", "", ""},
		{user, "  \t0\t0 *  * * x", "0 0 * * *", "", ""},
		{user, "@MIDNIGHT x", "@MIDNIGHT", "", ""},
		{user, "@every 90m x", "@every 90m", "", "fixed instant"},
		{user, "@every\t90m\tx", "@every 90m", "", ""},
		{user, "@every_minute x", "* * * * *", "", ""},
		{user, "@600 x", "every 10m after finish", "", ""},
		{user, "-*/5 * * * * x", "*/5 * * * *", "", ""},
		{user, "0 0 * * * -q -n x y", "0 0 * * *", "", "-n is about mail"},
		{user, "0~29 ~ 1~7 * ~ x", "H(0-29) H H(1-7) * H", "", "once and for all"},
		{user, "~9,40~/5 * * * * x", "H(0-9),H(40-59)/5 * * * *", "", ""},
		{user, "0 22-2 * * fri-mon x", "0 22-2 * * fri-mon", "", ""},
		{user, "0 0 * * * a \\", "0 0 * * *", "", "no continued lines"},
		{user, "0 0 * * * a%b", "0 0 * * *", "", "standard input"},
		{system, "0 0 * * * me x", "0 0 * * *", "", "cron runs it as me"},
		{system, "@daily\tme\tx", "@daily", "", ""},

		{user, "@reboot x", "", `line 1, column 1, macro "@reboot": names an event, not a time`, ""},
		{user, "@dialy x", "", `did you mean "@daily"?`, ""},
		{user, "@0 x", "", "is no time between runs", ""},
		{user, "@every 5x x", "", "line 1, column 8", ""},
		{user, "0 24 * * * x", "", `line 1, column 3, hour "24": is outside 0 to 23; understood so far: minute 0`, ""},
		{user, "  0 0  * * mun x", "", `line 1, column 12, weekday "MUN"`, ""},
		{user, "0 0 30 2 * x", "", "never matches", ""},
		{user, "0 0 * * *", "", "line 1, column 10, command: is missing", ""},
		{user, "0 0 * * * \t", "", "command: is missing", ""},
		{user, "0 99 * * *", "", `line 1, column 3, hour "99"`, ""},
		{user, "0 0", "", "command: is missing", ""},
		{user, "@daily", "", "command: is missing", ""},
		{user, "0 0 9 * * * x", "", `line 1, column 11, command "*": is a sixth field`, ""},
		{user, "0~99 * * * * x", "", `minute "99"`, ""},
		{user, "CRON_TZ=Europe/Sophia", "", `zone "Europe/Sophia"`, ""},
		{user, "CRON_TZ=UTC 0 0 * * * x", "", "CRON_TZ stands on a line of its own", ""},
		{user, "RANDOM_DELAY=soon", "", "RANDOM_DELAY \"soon\": is not a number of minutes", ""},
		{user, "BELFRY_JOB_ID=1", "", "is reserved", ""},
		{user, "''=1", "", "is not the name of an environment variable", ""},
		{user, "0 0 * * * a\x00b", "", "has bytes that are not text", ""},
		{user, "0 0 * * * \xff", "", "has bytes that are not text", ""},
		{user, "hello", "", "command: is missing", ""},
		{system, "0 0 * * * /bin/x y", "", `column 11, user "/bin/x": is not the name of a user`, ""},
		{system, "0 0 * * * me", "", "line 1, column 13, command: is missing (it stands after the user me)", ""},
	} {
		r := crontab(t, c.text, intake.Options{Format: c.format})
		if len(r.Lines) != 1 {
			t.Errorf("%q: %+v", c.text, r.Lines)
			continue
		}
		l := r.Lines[0]
		switch {
		case c.fault != "":
			if l.Err == nil || !strings.Contains(l.Err.String(), c.fault) {
				t.Errorf("%q: says %v, want %q", c.text, l.Err, c.fault)
			}
		case l.Err != nil:
			t.Errorf("%q: %v", c.text, l.Err)
		case r.Manifest.Schedules[0].RuleText() != c.rule:
			t.Errorf("%q: became %q, want %q", c.text, r.Manifest.Schedules[0].RuleText(), c.rule)
		}
		if c.note != "" && !strings.Contains(strings.Join(l.Notes, "\n"), c.note) {
			t.Errorf("%q: notes are %q, want %q", c.text, l.Notes, c.note)
		}
	}
}

func TestVariablesCountFromWhereTheyAreSet(t *testing.T) {
	t.Parallel()
	r := crontab(t, `@daily first
A=1
 B = " two words "  
C = plain words  
TZ=Asia/Tokyo
RANDOM_DELAY=30
@daily second a=b
A=
@daily -s third
`, intake.Options{Format: intake.FormatUser, Zone: "Europe/Sofia"})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if env := taskOf(t, r, "first").Command.Env; env != nil {
		t.Errorf("first has %q", env)
	}
	same(t, "second", taskOf(t, r, "second").Command.Env, map[string]string{"A": "1", "B": " two words ", "C": "plain words", "TZ": "Asia/Tokyo"})
	same(t, "third", taskOf(t, r, "third").Command.Env["A"], "")
	if s := scheduleOf(t, r, "second"); s.Zone != "Europe/Sofia" || s.Jitter != core.Duration(30*time.Minute) || s.Overlap != schedule.OverlapAllow {
		t.Errorf("second is %+v", s)
	}
	if s := scheduleOf(t, r, "third"); s.Overlap != schedule.OverlapSkip {
		t.Errorf("third may overlap: %+v", s)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "line 5: TZ is given to commands") || strings.Contains(notes, "read in UTC") {
		t.Error(notes)
	}
}

func TestWhetherLinesNameUsersIsFoundOutOrAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"0 0 * * * root /bin/x", "system"},
		{"0 0 * * * deploy /bin/x\n0 1 * * * root /bin/y", "system"},
		{"@daily www-data php -f cron.php", "system"},
		{"0 0 * * * /bin/x", "user"},
		{"0 0 * * * backup --all", "user"},
		{"0 0 * * * backup", "user"},
		{"0 0 * * * backup > /dev/null", "user"},
		{"0 0 * * * rsync /a /b", "user"},
		{"0 0 * * * backup.sh /a", "user"},
		{"0 0 * * * sleep 5", "user"},
		{"", "user"},
		{"A=1\n# x", "user"},
		{"0 0 * * * deploy /bin/x\n0 1 * * * /bin/y", "user"},
		{"0 0 * * * backup /home", `line 1 runs "backup /home" (a user's crontab), or "/home" as the user backup (a system crontab)`},
		{"# x\n\n@daily deploy make all", `line 3 runs "deploy make all"`},
		{"0 0 * * * root /bin/x\n0 1 * * * /bin/y", "line 1 names a user before its command, line 2 does not"},
	} {
		r, err := intake.Crontab(strings.NewReader(c.text), intake.Options{Now: now})
		if err != nil {
			if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "say which") {
				t.Errorf("%q: %v, want %s", c.text, err, c.want)
			}
			for _, f := range []intake.Format{intake.FormatUser, intake.FormatSystem} {
				crontab(t, c.text, intake.Options{Format: f})
			}
			continue
		}
		got := "user"
		for _, l := range r.Lines {
			if strings.Contains(strings.Join(l.Notes, "\n"), "cron runs it as") {
				got = "system"
			}
		}
		if got != c.want {
			t.Errorf("%q is taken for %s, want %s", c.text, got, c.want)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		o    intake.Options
		says string
	}{
		"too large":      {strings.Repeat("#", intake.MaxSize+1), intake.Options{}, "more than 1048576 bytes"},
		"too long":       {strings.Repeat("\n", intake.MaxLines+2), intake.Options{}, "more than 10000 lines"},
		"no zone":        {"", intake.Options{Zone: "Europe/Sophia"}, "Europe/Sofia"},
		"no format":      {"", intake.Options{Format: "odd"}, "one of user, system"},
		"no namespace":   {"", intake.Options{Namespace: "-"}, "namespace"},
		"no queue":       {"", intake.Options{Queue: "a b"}, "queue"},
		"none of theirs": {"apiVersion: v1\nkind: Secret\n", intake.Options{}, "holds no CronJob"},
		"empty document": {"---\n---\n", intake.Options{}, "holds no CronJob"},
	} {
		if _, err := intake.Read(strings.NewReader(c.text), c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesAreUniqueAndSoonFound(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range intake.MaxLines {
		fmt.Fprintf(&b, "%d %d * * * /opt/same.sh -x %d\n", i%60, i/60%24, i)
	}
	began := time.Now()
	r := crontab(t, b.String(), intake.Options{Format: intake.FormatUser})
	if len(r.Manifest.Schedules) != intake.MaxLines || r.Err() != nil {
		t.Errorf("%d schedules, %v", len(r.Manifest.Schedules), r.Err())
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	r = crontab(t, "@daily a 2\n@daily a 2 -x\n@daily a\n@daily a -x\n@daily a 2", intake.Options{Format: intake.FormatUser})
	var got []string
	for _, s := range r.Manifest.Schedules {
		got = append(got, s.Name+" "+s.Task)
	}
	same(t, "names", got, []string{"a-2 a-2", "a-2-2 a-2-2", "a a", "a-3 a-3", "a-2-3 a-2"})
}

func TestVariablesOfManyEntriesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "K%d=%s\n", i, strings.Repeat("x", 100))
	}
	for i := range 4000 {
		fmt.Fprintf(&b, "@daily a %d\n", i)
	}
	r := crontab(t, b.String(), intake.Options{Format: intake.FormatUser})
	if n := len(r.Manifest.Tasks); n == 0 || n > 200 {
		t.Errorf("%d tasks with 2000 variables each", n)
	}
	if l := r.Lines[len(r.Lines)-1]; l.Err == nil || !strings.Contains(l.Err.Message, "too large") {
		t.Errorf("%+v", l)
	}
}

func TestReadTellsCrontabsFromManifests(t *testing.T) {
	t.Parallel()
	for text, yaml := range map[string]bool{
		debian: false, personal: false, cronJob: true, "---\n" + cronJob: true, "# x\n\n" + cronJob: true, `{"kind":"List"}`: true,
		"\ufeff" + cronJob: true, "PATH=/a:/b\n0 0 * * * /x": false, "0 0 * * * kind: x": false,
	} {
		r, err := intake.Read(strings.NewReader(text), intake.Options{Now: now})
		if yaml != (err != nil && strings.Contains(err.Error(), "CronJob") || len(r.Lines) == 1 && strings.HasPrefix(r.Lines[0].Text, "backup:")) {
			t.Errorf("%.30q: %v %+v", text, err, r.Lines)
		}
	}
}
