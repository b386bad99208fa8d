package console_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// newcomer is a person who does their first tasks, each from Home. What they do is counted.
type newcomer struct {
	*browser.Tab
	s                   *site
	clicks, fields, key int
}

// seconds are those of a person by the keystroke-level model of Card, Moran and Newell: to think of it and point with the
// mouse, to take the keyboard and leave it, and to type as people do who are no typists.
func (n *newcomer) seconds() int {
	const think, point, press, hand, key = 1.35, 1.1, .2, .4, .28
	return int(math.Ceil(float64(n.clicks+n.fields)*(think+point+press) + float64(n.fields)*2*hand + float64(n.key)*key))
}

// goes clicks what leads to another page.
func (n *newcomer) goes(selector string) {
	n.T.Helper()
	n.clicks++
	n.Follow(selector)
	n.Quiet(n.s.url)
}

// opens clicks what opens something on the page.
func (n *newcomer) opens(selector, until string) {
	n.T.Helper()
	n.clicks++
	n.Click(selector)
	n.Until(until)
}

// writes fills a field.
func (n *newcomer) writes(selector, text string) {
	n.T.Helper()
	n.fields++
	n.key += len(text)
	var choice bool
	if n.Eval(`document.querySelector(`+strconv.Quote(selector)+`)?.tagName === 'SELECT'`, &choice); choice {
		put(n.Tab, selector, text)
		return
	}
	n.Click(selector)
	n.Eval(`(document.activeElement.select(), true)`, new(bool)) // with Ctrl+A
	n.Call("Input.insertText", map[string]any{"text": text}, nil)
	n.Until(`document.querySelector(` + strconv.Quote(selector) + `).value === ` + strconv.Quote(text))
}

// sees waits until a person can read it.
func (n *newcomer) sees(texts ...string) {
	n.T.Helper()
	for _, text := range texts {
		n.Until(`document.body.innerText.includes(` + strconv.Quote(text) + `)`)
	}
}

// firstTasks are what newcomers do. Their bounds stand in docs/guides/web-interface.md.
var firstTasks = []struct {
	name string
	does func(n *newcomer)
}{
	{"Run a first job and read what it says", func(n *newcomer) {
		n.goes("a.main[href='/tasks/-new']")
		n.writes("#f-name", "hello")
		n.writes("#f-command-shell", "echo hello from $((40 + 2))")
		n.goes("p.actions button[value=run]")
		n.sees("hello from 42", "succeeded")
	}},
	{"Run a task each night", func(n *newcomer) {
		n.goes("nav a[href='/schedules']")
		n.goes("a.main[href='/schedules/-new']")
		n.writes("#f-name", "nightly")
		n.writes("#f-task", "hello")
		n.writes("#rule-text-1", "0 3 * * *")
		n.goes("button[value=save]")
		n.sees("nightly", "Next 20 times")
	}},
	{"Find out why a job failed", func(n *newcomer) {
		n.goes("#failing-default-report .acts a")
		n.sees("no such quarter: Q5", "failed")
	}},
	{"Run it again with other input", func(n *newcomer) {
		n.goes("#failing-default-report .acts a")
		n.goes("a.button[href*='like=']")
		n.writes("#f-input", `{"quarter":"Q4"}`)
		n.goes("form.card button.main")
		n.sees(`"quarter"`, "Q4", "succeeded")
	}},
	{"Silence alerts tonight", func(n *newcomer) {
		n.goes("nav a[href='/monitors']")
		n.goes(".titled a[href='/settings/windows']")
		n.goes(".titled a[href*='preset=tonight']")
		n.goes("form button.main")
		n.sees("Window tonight-", "is saved")
	}},
	{"Find a failure of last week", func(n *newcomer) {
		n.goes("nav a[href='/dead']")
		n.opens("#dead tr:has(a[href='/tasks/import']) details summary", `!!document.querySelector("#dead tr:has(a[href='/tasks/import']) details[open]")`)
		n.goes("#dead tr:has(a[href='/tasks/import']) details a[href^='/jobs/']")
		n.sees("the disk was full", "7 d ago")
	}},
	{"Watch a site", func(n *newcomer) {
		n.goes("nav a[href='/monitors']")
		n.goes("a.main[href='/monitors/-new']")
		n.writes("#f-name", "shop")
		n.writes("#f-check-http-url", n.s.url+"/livez")
		n.goes("button[value=save]")
		n.sees("shop", "Up for")
	}},
	{"See what runs tomorrow", func(n *newcomer) {
		n.goes("a[href*='view=lanes']")
		var title string
		n.Eval(`document.querySelector("svg[aria-label^='nightly:'] rect.ahead title")?.textContent ?? ''`, &title)
		if at := time.Now().UTC().Truncate(24 * time.Hour); !strings.HasPrefix(title, at.Add(27*time.Hour).Format("2 Jan, 15:04")) && !strings.HasPrefix(title, at.Add(3*time.Hour).Format("2 Jan, 15:04")) {
			n.T.Errorf("nightly starts %q", title)
		}
	}},
	{"Pause a schedule", func(n *newcomer) {
		n.goes("nav a[href='/schedules']")
		n.opens("tr:has(a[href='/schedules/nightly']) button.more", `!!document.querySelector("tr:has(a[href='/schedules/nightly']) .rowmenu:popover-open")`)
		n.goes("tr:has(a[href='/schedules/nightly']) button[formaction$='/pause']")
		n.sees("Schedule nightly is paused")
	}},
	{"See who paused it", func(n *newcomer) {
		n.goes("nav a[href='/audit']")
		n.sees("pause schedule nightly", "newcomer")
	}},
}

const newcomersPage = "../../../docs/guides/web-interface.md"

var boundRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| (\d+) \| (\d+) \| (\d+) \|$`)

// A newcomer needs no more clicks, fields and seconds than the documentation says. What the machine takes is logged.
func TestFirstStepsStayWithinTheirBounds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(newcomersPage)
	if err != nil {
		t.Fatal(err)
	}
	bounds, names := map[string][3]int{}, []string{}
	for _, row := range boundRow.FindAllStringSubmatch(string(text), -1) {
		clicks, _ := strconv.Atoi(row[2])
		fields, _ := strconv.Atoi(row[3])
		seconds, _ := strconv.Atoi(row[4])
		bounds[row[1]], names = [3]int{clicks, fields, seconds}, append(names, row[1])
	}
	if len(names) != len(firstTasks) {
		t.Errorf("the page has bounds of %d tasks, not %d: %q", len(names), len(firstTasks), names)
	}
	s := newSite(t, func(c *config.Config) {
		c.Roles, c.AllowCommands, c.AllowAddresses = []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}, true, []string{"loopback"}
	})
	secret, _ := s.token("newcomer", core.AnyNamespace, access.ScopeAdmin)
	for i, first := range firstTasks {
		if i == 1 {
			s.pastFailures()
		}
		t.Run(first.name, func(t *testing.T) {
			n := &newcomer{Tab: s.tab(secret), s: s}
			n.T = t
			defer n.Close()
			n.Emulate("light", 1200)
			n.Visit(s.url + "/")
			began := time.Now()
			first.does(n)
			picture(n.Tab, fmt.Sprint("newcomer-", i+1))
			most, told := bounds[first.name]
			t.Logf("%d clicks, %d fields, %d characters: %d s, and %.1f s of the machine", n.clicks, n.fields, n.key, n.seconds(), time.Since(began).Seconds())
			switch {
			case !told:
				t.Errorf("%s has no bounds for it", newcomersPage)
			case n.clicks > most[0] || n.fields > most[1] || n.seconds() > most[2]:
				t.Errorf("it takes %d clicks, %d fields and %d s, at most %d, %d and %d are allowed", n.clicks, n.fields, n.seconds(), most[0], most[1], most[2])
			case n.clicks < most[0] || n.fields < most[1] || n.seconds() < most[2]-1: // an address may have a digit more
				t.Errorf("it takes %d clicks, %d fields and %d s: lower its bounds of %d, %d and %d", n.clicks, n.fields, n.seconds(), most[0], most[1], most[2])
			}
		})
	}
}

// pastFailures are a job that fails by its input, and one that failed a week ago.
func (s *site) pastFailures() {
	s.Helper()
	ctx := s.Context()
	fails := func(name, shell, input string) int64 {
		must(s.CreateTask(ctx, task.Task{Name: name, Kind: task.KindCommand, Command: &task.Command{Shell: shell}, Retry: task.Retry{MaxAttempts: 1}}))(s)
		id := must(s.Enqueue(ctx, []job.NewJob{{Task: name, Input: []byte(input)}}))(s)[0].Job.ID
		for cursor := ""; must(s.Job(ctx, "default", id))(s).State != job.Failed; {
			var err error
			if _, cursor, err = s.Events(ctx, "default", cursor, time.Second); err != nil {
				s.Fatal(err)
			}
		}
		return id
	}
	id := fails("import", "echo the disk was full >&2; exit 1", `{}`)
	week := (7*24*time.Hour + time.Hour).Microseconds()
	must(true, s.node.Store().DB().Write(ctx, func(tx base.Tx, _ base.Moment) error {
		for _, table := range []string{"jobs_done set due_at = due_at - $1, created_at = created_at - $1, claimed_at = claimed_at - $1, finished_at = finished_at - $1 where id",
			"attempts set ended_at = ended_at - $1, claimed_at = claimed_at - $1 where job_id"} {
			if _, err := tx.Exec(ctx, "update belfry."+table+" = $2", week, id); err != nil {
				return err
			}
		}
		return nil
	}))(s)
	fails("report", `case "$BELFRY_INPUT" in *Q5*) echo no such quarter: Q5 >&2; exit 2;; esac; echo done`, `{"quarter":"Q5"}`)
}
