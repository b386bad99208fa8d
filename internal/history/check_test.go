package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// file adds a header and an end to lines.
func file(complete string, lines ...string) string {
	all := append([]string{`{"belfry_history":1,"source":"by hand","clock":"steps"}`}, lines...)
	all = append(all, fmt.Sprintf(`{"line":"end","lines":%d,"complete":[%s]}`, len(all)+1, complete))
	return strings.Join(all, "\n") + "\n"
}

const everything = `"job","execution","occurrence"`

// asks and told are the two events of an operation.
func asks(process string, id, time int, op, args string) string {
	return fmt.Sprintf(`{"line":"event","process":%q,"id":%d,"type":"invoke","op":%q,"args":%s,"time":%d}`, process, id, op, args, time)
}

func told(process string, id, time int, op, result string) string {
	return fmt.Sprintf(`{"line":"event","process":%q,"id":%d,"type":"ok","op":%q,"result":%s,"time":%d}`, process, id, op, result, time)
}

func lost(process string, id, time int, op string) string {
	return fmt.Sprintf(`{"line":"event","process":%q,"id":%d,"type":"unknown","op":%q,"error":"the answer was lost","time":%d}`, process, id, op, time)
}

func failed(process string, id, time int, op string) string {
	return fmt.Sprintf(`{"line":"event","process":%q,"id":%d,"type":"fail","op":%q,"error":"refused","time":%d}`, process, id, op, time)
}

// asked returns the lines of jobs 1 to n, acknowledged one after the other.
func asked(n int) (lines []string) {
	for id := 1; id <= n; id++ {
		lines = append(lines, asks("c", id, 10*id, "enqueue", `{"jobs":[{"task":"t"}]}`), told("c", id, 10*id+1, "enqueue", fmt.Sprintf(`{"jobs":[{"id":%d}]}`, id)))
	}
	return lines
}

// inGroup returns the record of a succeeded job of a group, and item that of an item of a step.
func inGroup(id int, attempts ...string) string {
	return record(id, "succeeded", `,"group":"g"`, append(attempts, try(len(attempts)+1, id*10, "ok"))...)
}

func item(id int, state, step string, item int) string {
	return record(id, state, fmt.Sprintf(`,"run":9,"trigger":"step","reason":"r","step":%q,"item":%d`, step, item), try(1, id*10, "ok"))
}

const (
	limit2   = `{"line":"limit","task":"t","running":2}`
	sequence = `{"line":"limit","task":"t","sequence":true}`
	graph    = `{"line":"workflow","task":"w","steps":[{"name":"a","at_once":2},{"name":"b","needs":["a"]}]}`
	theRun   = `{"line":"job","id":9,"task":"w","kind":"workflow","state":"succeeded","time":1000}`
)

func runAt(id, start, end int) string { return ran(id, id*10, 1, start, end, "ok") }

// made returns the lines of job 1, acknowledged from 1 to 2.
func made(extra string) []string {
	return []string{
		asks("c", 1, 1, "enqueue", `{"jobs":[{"task":"t"`+extra+`}]}`),
		told("c", 1, 2, "enqueue", `{"jobs":[{"id":1}]}`),
	}
}

func ran(job, lease, attempt, start, end int, outcome string) string {
	return fmt.Sprintf(`{"line":"execution","job":%d,"lease":%d,"attempt":%d,"start":%d,"end":%d,"outcome":%q}`, job, lease, attempt, start, end, outcome)
}

func record(id int, state, extra string, attempts ...string) string {
	return fmt.Sprintf(`{"line":"job","id":%d,"task":"t","queue":"default","state":%q,"time":1000%s,"attempts":[%s]}`, id, state, extra, strings.Join(attempts, ","))
}

func try(number, lease int, outcome string) string {
	return fmt.Sprintf(`{"number":%d,"lease":%d,"outcome":%q}`, number, lease, outcome)
}

// claimed returns the lines of a claim of job 1 by a recording worker, from time to time+1.
func claimed(id, time, lease int) []string {
	return []string{
		asks("w", id, time, "claim", `{"session":"s"}`),
		told("w", id, time+1, "claim", fmt.Sprintf(`{"jobs":[{"id":1,"lease":%d}]}`, lease)),
	}
}

// reported returns the lines of the finish of job 1.
func reported(id, time, lease int, stale bool) []string {
	return []string{
		asks("w", id, time, "finish", fmt.Sprintf(`{"session":"s","jobs":[{"id":1,"lease":%d,"outcome":"ok"}]}`, lease)),
		told("w", id, time+1, "finish", fmt.Sprintf(`{"jobs":[{"id":1,"lease":%d,"stale":%t}]}`, lease, stale)),
	}
}

// said returns the lines of a call about job 1.
func said(op string, id, time int, result string) []string {
	return []string{asks("p", id, time, op, `{"jobs":[{"id":1}]}`), told("p", id, time+1, op, result)}
}

func plan(from, to int) string {
	return fmt.Sprintf(`{"line":"schedule","definition":{"name":"tick","task":"t","rules":[{"cron":"* * * * * *"}]},"from":%d,"to":%d}`, second(from), second(to))
}

func second(n int) int { return 1_800_000_000_000_000 + n*1_000_000 }

func fired(n, job int) string {
	return fmt.Sprintf(`{"line":"occurrence","schedule":"tick","nominal":%d,"decision":"job","job":%d}`, second(n), job)
}

func skipped(from, to, count int, reason string) string {
	return fmt.Sprintf(`{"line":"occurrence","schedule":"tick","nominal":%d,"until":%d,"count":%d,"decision":"skipped","reason":%q}`, second(from), second(to), count, reason)
}

func scheduled(id, n int) string {
	return record(id, "succeeded", fmt.Sprintf(`,"schedule":"tick","trigger":"schedule","nominal":%d`, second(n)), try(1, id*10, "ok"))
}

func done(id int) string { return ran(id, id*10, 1, id*20, id*20+10, "ok") }

func all(parts ...any) []string {
	var lines []string
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			lines = append(lines, p)
		case []string:
			lines = append(lines, p...)
		}
	}
	return lines
}

func check(t *testing.T, text string) Report {
	t.Helper()
	h, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return Check(h)
}

func texts(r Report) string {
	var all []string
	for _, v := range r.Violations {
		all = append(all, v.Promise+": "+v.String())
	}
	return strings.Join(all, "\n")
}

func TestGoodHistories(t *testing.T) {
	t.Parallel()
	good := map[string][]string{
		"a job that succeeds": all(made(""), ran(1, 10, 1, 3, 4, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))),
		"a lost attempt, and a handler that was not told": all(made(""), ran(1, 10, 1, 3, 9, "ok"), ran(1, 11, 2, 8, 9, "ok"),
			record(1, "succeeded", "", try(1, 10, "lost"), try(2, 11, "ok"))),
		"a success after a request to cancel what runs": all(made(""), claimed(1, 3, 10), said("cancel", 1, 5, `{"jobs":[{"id":1}]}`), reported(2, 7, 10, false),
			ran(1, 10, 1, 4, 6, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))),
		"a cancel, a retry and a success": all(made(""), said("cancel", 1, 3, `{"jobs":[{"id":1}]}`), said("read", 2, 5, `{"jobs":[{"id":1,"state":"canceled"}]}`),
			said("retry", 3, 7, `{"jobs":[{"id":1}]}`), ran(1, 10, 1, 9, 10, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))),
		"a cancel that came too late": all(made(""), ran(1, 10, 1, 3, 4, "ok"), said("cancel", 1, 6, `{"jobs":[{"id":1,"left":true}]}`), record(1, "succeeded", "", try(1, 10, "ok"))),
		"a key whose first answer was lost": all(asks("c", 1, 1, "enqueue", `{"jobs":[{"task":"t","key":"k"}]}`), lost("c", 1, 2, "enqueue"),
			asks("c", 2, 3, "enqueue", `{"jobs":[{"task":"t","key":"k"}]}`), told("c", 2, 4, "enqueue", `{"jobs":[{"id":1,"existing":true}]}`),
			ran(1, 10, 1, 2, 4, "ok"), record(1, "succeeded", `,"key":"k"`, try(1, 10, "ok"))),
		"a key that is new again after its window": all(made(`,"key":"k","key_window":5`), asks("c", 2, 10, "enqueue", `{"jobs":[{"task":"t","key":"k","key_window":5}]}`),
			told("c", 2, 11, "enqueue", `{"jobs":[{"id":2}]}`), ran(1, 10, 1, 3, 4, "ok"), ran(2, 20, 1, 13, 14, "ok"),
			record(1, "succeeded", `,"key":"k"`, try(1, 10, "ok")), record(2, "succeeded", `,"key":"k"`, try(1, 20, "ok"))),
		"a cancel of which nobody knows, done": all(made(""), asks("p", 1, 3, "cancel", `{"jobs":[{"id":1}]}`), lost("p", 1, 4, "cancel"), record(1, "canceled", `,"reason":"canceled"`)),
		"a cancel of which nobody knows, not done": all(made(""), asks("p", 1, 3, "cancel", `{"jobs":[{"id":1}]}`), lost("p", 1, 4, "cancel"),
			ran(1, 10, 1, 8, 9, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))),
		"a batch whose answer was lost": all(asks("c", 1, 1, "enqueue", `{"jobs":[{"task":"t","key":"k"},{"task":"t","key":"l"}]}`), lost("c", 1, 2, "enqueue"),
			asks("c", 2, 3, "enqueue", `{"jobs":[{"task":"t","key":"m"},{"task":"t","key":"n"}]}`), record(1, "succeeded", `,"key":"k"`, try(1, 10, "ok")), record(2, "succeeded", `,"key":"l"`, try(1, 20, "ok")), done(1), done(2)),
		"a call that failed and did nothing": all(asks("c", 1, 1, "enqueue", `{"jobs":[{"task":"t","key":"k"}]}`), failed("c", 1, 2, "enqueue"), record(7, "succeeded", "", try(1, 10, "ok")), ran(7, 10, 1, 1, 2, "ok")),
		"a finish that came twice": all(made(""), claimed(1, 3, 10), asks("w", 2, 5, "finish", `{"session":"s","jobs":[{"id":1,"lease":10,"outcome":"ok"}]}`), lost("w", 2, 6, "finish"),
			reported(3, 7, 10, true), ran(1, 10, 1, 4, 5, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))),
		"an active key that is free again": all(made(`,"active_key":"a"`), ran(1, 10, 1, 3, 4, "ok"), asks("c", 2, 6, "enqueue", `{"jobs":[{"task":"t","active_key":"a"}]}`),
			told("c", 2, 7, "enqueue", `{"jobs":[{"id":2}]}`), ran(2, 20, 1, 8, 9, "ok"), record(1, "succeeded", "", try(1, 10, "ok")), record(2, "succeeded", "", try(1, 20, "ok"))),
		"a queue that was paused and goes on": all(made(""), asks("p", 1, 3, "pause_queue", `{"name":"default"}`), told("p", 1, 4, "pause_queue", `{}`), asks("p", 2, 5, "resume_queue", `{"name":"default"}`),
			lost("p", 2, 6, "resume_queue"), claimed(1, 7, 10), reported(2, 9, 10, false), ran(1, 10, 1, 8, 9, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))),
		"nominal times with jobs and reasons": all(plan(0, 3), fired(0, 1), skipped(1, 2, 2, "catchup_latest"), fired(3, 2), scheduled(1, 0), scheduled(2, 3), done(1), done(2)),
		"a limit that is kept, and a lost attempt beside it": all(limit2, asked(3), runAt(1, 100, 200), ran(2, 19, 1, 110, 300, "ok"), ran(2, 20, 2, 150, 250, "ok"), runAt(3, 200, 300),
			inGroup(1), inGroup(2, try(1, 19, "lost")), inGroup(3)),
		"a sequence in its order":              all(sequence, asked(2), ran(1, 9, 1, 100, 110, "error"), ran(1, 10, 2, 120, 130, "ok"), runAt(2, 130, 140), inGroup(1, try(1, 9, "error")), inGroup(2)),
		"a sequence whose first job came back": all(sequence, asked(2), said("cancel", 8, 80, `{"jobs":[{"id":1}]}`), said("retry", 9, 90, `{"jobs":[{"id":1}]}`), runAt(1, 200, 210), runAt(2, 100, 110), inGroup(1), inGroup(2)),
		"a workflow of three jobs": all(graph, theRun, asks("c", 9, 1, "enqueue", `{"jobs":[{"task":"w"}]}`), told("c", 9, 2, "enqueue", `{"jobs":[{"id":9}]}`), runAt(1, 100, 200), runAt(2, 150, 250), runAt(3, 250, 300),
			item(1, "succeeded", "a", 0), item(2, "succeeded", "a", 1), item(3, "succeeded", "b", 0)),
		"a step that succeeded again in a run that was retried": all(graph, theRun, asks("c", 8, 1, "retry", `{"jobs":[{"id":9}]}`), lost("c", 8, 2, "retry"), runAt(1, 100, 200), runAt(2, 250, 300),
			item(1, "succeeded", "b", 0), item(2, "succeeded", "b", 0)),
		"a step that was canceled with its run": all(graph, asks("p", 1, 3, "cancel", `{"jobs":[{"id":9}]}`), told("p", 1, 4, "cancel", `{"jobs":[{"id":9}]}`), ran(1, 10, 1, 1, 2, "error"),
			`{"line":"job","id":9,"task":"w","kind":"workflow","state":"canceled","reason":"canceled","time":1000}`, record(1, "canceled", `,"trigger":"step","reason":"canceled"`, try(1, 10, "error"))),
		"uptime within what checks can see": {
			`{"line":"target","monitor":"m","time":0,"state":"up"}`, `{"line":"target","monitor":"m","time":100,"state":"down"}`, `{"line":"target","monitor":"m","time":200,"state":"up"}`,
			`{"line":"monitor","name":"m","from":0,"to":1000,"up":895,"down":105,"slack":10}`,
		},
	}
	for name, lines := range good {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := check(t, file(everything, lines...))
			if err := r.Err(); err != nil || r.Counts.Undecided > 0 {
				t.Errorf("%v: %s", err, texts(r))
			}
		})
	}
}

func TestBadHistoriesAreFound(t *testing.T) {
	t.Parallel()
	good := all(made(""), ran(1, 10, 1, 3, 4, "ok"))
	bad := map[string]struct {
		lines []string
		says  string
		at    []int
	}{
		"two successes of one job":         {all(good, ran(1, 11, 2, 5, 6, "ok"), record(1, "succeeded", "", try(1, 10, "ok"), try(2, 11, "ok"))), "2 attempts are recorded as successes", []int{6}},
		"an acknowledged job that is lost": {made(""), "was acknowledged and is lost", []int{3, 4}},
		"a job that was new twice": {all(made(""), asks("c", 2, 3, "enqueue", `{"jobs":[{"task":"t"}]}`), told("c", 2, 4, "enqueue", `{"jobs":[{"id":1}]}`),
			record(1, "succeeded", "", try(1, 10, "ok")), ran(1, 10, 1, 3, 4, "ok")), "2 calls were told that it is new", []int{3, 5}},
		"two executions under one lease": {all(good, ran(1, 10, 1, 3, 5, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))), "ran twice under lease 10", []int{4, 5}},
		"leases that do not grow":        {all(made(""), record(1, "succeeded", "", try(1, 10, "lost"), try(2, 10, "ok"))), "lease 10 of attempt 2 is not larger than lease 10", []int{4}},
		"a success after a cancel that was acknowledged": {all(made(""), said("read", 1, 3, `{"jobs":[{"id":1,"state":"ready"}]}`), said("cancel", 2, 5, `{"jobs":[{"id":1}]}`),
			claimed(1, 8, 10), reported(2, 11, 10, false), ran(1, 10, 1, 9, 10, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))), "leaving out one of these would: cancel was acknowledged", []int{6}},
		"a second attempt after a cancel": {all(made(""), ran(1, 10, 1, 3, 4, "error"), said("cancel", 1, 5, `{"jobs":[{"id":1}]}`), ran(1, 11, 2, 8, 9, "error"), ran(1, 12, 3, 10, 11, "ok"),
			record(1, "succeeded", "", try(1, 10, "error"), try(2, 11, "error"), try(3, 12, "ok"))), "cancel was acknowledged", []int{5}},
		"a canceled job that nobody canceled": {all(made(""), record(1, "canceled", `,"reason":"canceled"`)), "the record says canceled after 0 attempts", nil},
		"a read that forgets": {all(made(""), said("read", 1, 3, `{"jobs":[{"id":1,"state":"succeeded"}]}`), said("read", 2, 5, `{"jobs":[{"id":1,"state":"running"}]}`),
			ran(1, 10, 1, 2, 3, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))), "a read was answered with: running", nil},
		"an acknowledged job that is not found": {all(made(""), said("read", 1, 3, `{"jobs":[{"id":1,"state":"not_found"}]}`), ran(1, 10, 1, 4, 5, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))), "a read was answered with: not_found", nil},
		"a key that was accepted twice": {all(made(`,"key":"k"`), asks("c", 2, 3, "enqueue", `{"jobs":[{"task":"t","key":"k"}]}`), told("c", 2, 4, "enqueue", `{"jobs":[{"id":2}]}`),
			record(1, "succeeded", `,"key":"k"`, try(1, 10, "ok")), record(2, "succeeded", `,"key":"k"`, try(1, 20, "ok")), done(1), done(2)), `key "k" was accepted twice: its job is 1 already`, []int{3, 5}},
		"a key with a second job of which nobody heard": {all(made(`,"key":"k"`), asks("c", 2, 3, "enqueue", `{"jobs":[{"task":"t","key":"k"}]}`), lost("c", 2, 4, "enqueue"),
			record(1, "succeeded", `,"key":"k"`, try(1, 10, "ok")), record(2, "succeeded", `,"key":"k"`, try(1, 20, "ok")), done(1), done(2)), `key "k" has a second job 1 in the record`, nil},
		"half a batch whose answer was lost": {all(asks("c", 1, 1, "enqueue", `{"jobs":[{"task":"t","key":"k"},{"task":"t","key":"l"}]}`), lost("c", 1, 2, "enqueue"),
			record(1, "succeeded", `,"key":"k"`, try(1, 10, "ok")), done(1)), `of one batch, the job with key "k" exists, and the job with key "l" does not`, nil},
		"a call that failed and had an effect": {all(asks("c", 1, 1, "enqueue", `{"jobs":[{"task":"t","key":"k"}]}`), failed("c", 1, 2, "enqueue"),
			record(1, "succeeded", `,"key":"k"`, try(1, 10, "ok")), done(1)), "the only calls for it were answered with an error: refused", []int{2, 3, 4}},
		"two jobs that live under an active key": {all(made(`,"active_key":"a"`), asks("c", 2, 3, "enqueue", `{"jobs":[{"task":"t","active_key":"a"}]}`), told("c", 2, 4, "enqueue", `{"jobs":[{"id":2}]}`),
			said("read", 1, 6, `{"jobs":[{"id":1,"state":"ready"}]}`), record(1, "succeeded", "", try(1, 10, "ok")), record(2, "succeeded", "", try(1, 20, "ok")), done(1), done(2)), `made under active key "a" while job 1 lived`, []int{3, 5, 7}},
		"a stale finish that was recorded": {all(made(""), claimed(1, 3, 10), claimed(2, 6, 11), reported(3, 9, 10, false), ran(1, 10, 1, 4, 5, "ok"),
			record(1, "succeeded", "", try(1, 10, "ok"))), "a finish under lease 10 was accepted after lease 11 had been given", []int{7, 8}},
		"an accepted finish that is not recorded": {all(made(""), claimed(1, 3, 10), reported(2, 5, 10, false), ran(1, 10, 1, 4, 5, "ok"), record(1, "failed", `,"reason":"exhausted"`, try(1, 10, "error"))),
			"a finish with outcome ok was accepted under lease 10, and is recorded as error", []int{6, 9}},
		"a success that never was":          {all(made(""), record(1, "succeeded", "", try(1, 10, "ok"))), "no handler ran under it", []int{4}},
		"a success whose handler failed":    {all(made(""), ran(1, 10, 1, 3, 4, "error"), record(1, "succeeded", "", try(1, 10, "ok"))), "its handler saw error", []int{4, 5}},
		"a good end recorded as a failure":  {all(good, record(1, "failed", `,"reason":"exhausted"`, try(1, 10, "error"))), "its handler succeeded under lease 10, and the record says error", []int{4, 5}},
		"a run that is not recorded":        {all(good, ran(1, 11, 2, 5, 6, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))), "ran under lease 11, and no attempt is recorded", []int{5, 6}},
		"a job that ran and does not exist": {all(made(""), done(7), record(1, "succeeded", "", try(1, 10, "ok")), ran(1, 10, 1, 3, 4, "ok")), "job 7: ran and is not in the record", []int{4, 7}},
		"an end without a reason":           {all(made(""), record(1, "skipped", "")), "is skipped without a reason", []int{4}},
		"a claim from a paused queue": {all(made(""), asks("p", 1, 3, "pause_queue", `{"name":"default"}`), told("p", 1, 4, "pause_queue", `{}`), claimed(1, 7, 10), reported(2, 9, 10, false),
			ran(1, 10, 1, 8, 9, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))), "was claimed from queue default while it was paused", []int{5, 6, 7}},
		"a finish of a session that is over": {all(made(""), claimed(1, 3, 10), asks("w", 2, 5, "renew", `{"session":"s"}`), told("w", 2, 6, "renew", `{"lost":true}`), reported(3, 8, 10, false),
			ran(1, 10, 1, 4, 7, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))), "accepted from session s, which was over", []int{7, 8, 9}},
		"a claim of a session that is over": {all(made(""), asks("w", 1, 3, "close_session", `{"session":"s"}`), told("w", 1, 4, "close_session", `{}`), claimed(2, 6, 10), reported(3, 9, 10, false),
			ran(1, 10, 1, 7, 8, "ok"), record(1, "succeeded", "", try(1, 10, "ok"))), "was claimed by session s, which was over", []int{5, 6, 7}},
		"a nominal time with two jobs":         {all(plan(0, 1), fired(0, 1), fired(1, 2), scheduled(1, 0), scheduled(2, 0), done(1), done(2)), "has two jobs, 1 and 2", nil},
		"a nominal time with two occurrences":  {all(plan(0, 1), fired(0, 1), fired(0, 1), fired(1, 2), scheduled(1, 0), scheduled(2, 1), done(1), done(2)), "has two occurrences", nil},
		"a nominal time that was missed":       {all(plan(0, 2), fired(0, 1), fired(2, 2), scheduled(1, 0), scheduled(2, 2), done(1), done(2)), "2027-01-15T08:00:01Z has neither a job nor a reason", nil},
		"nominal times missed at the end":      {all(plan(0, 5), fired(0, 1), scheduled(1, 0), done(1)), "5 nominal times from 2027-01-15T08:00:01Z on", nil},
		"a time that was not due":              {all(plan(0, 1), fired(0, 1), fired(1, 2), `{"line":"occurrence","schedule":"tick","nominal":1800000000500000,"decision":"skipped","reason":"paused"}`, scheduled(1, 0), scheduled(2, 1), done(1), done(2)), "08:00:00.5Z was not due", nil},
		"a skip without a reason":              {all(plan(0, 2), fired(0, 1), skipped(1, 2, 2, ""), scheduled(1, 0), done(1)), "was skipped without a reason", nil},
		"a reason that the policy has not":     {all(plan(0, 2), fired(0, 1), skipped(1, 2, 2, "catchup_max"), scheduled(1, 0), done(1)), "reason catchup_max, which its policy does not have", nil},
		"a reason that nobody knows":           {all(plan(0, 2), fired(0, 1), skipped(1, 2, 2, "mood"), scheduled(1, 0), done(1)), "reason mood", nil},
		"a row that counts wrongly":            {all(plan(0, 2), fired(0, 1), skipped(1, 2, 3, "paused"), scheduled(1, 0), done(1)), "counts 3 nominal times, must be 2", nil},
		"an occurrence whose job is not there": {all(plan(0, 0), fired(0, 1)), "job 1 of 2027-01-15T08:00:00Z is not in the record", nil},
		"a job without an occurrence":          {all(plan(0, 0), fired(0, 1), scheduled(1, 0), scheduled(2, 1), done(1), done(2)), "job 2 for 2027-01-15T08:00:01Z has no occurrence", nil},
		"a run for another nominal time": {all(plan(0, 0), fired(0, 1), scheduled(1, 0), fmt.Sprintf(`{"line":"execution","job":1,"lease":10,"attempt":1,"nominal":%d,"start":20,"end":30,"outcome":"ok"}`, second(7))),
			"ran for 2027-01-15T08:00:07Z, and is recorded for 2027-01-15T08:00:00Z", nil},
		"two runs of a schedule at once": {all(plan(0, 1), fired(0, 1), fired(1, 2), scheduled(1, 0), scheduled(2, 1), ran(1, 10, 1, 20, 30, "ok"), ran(2, 20, 1, 25, 35, "ok")), "job 2 began before job 1 had ended, and its overlap policy is skip", nil},
		"more of a group than its limit": {all(limit2, asked(3), runAt(1, 100, 200), runAt(2, 110, 210), runAt(3, 199, 300), inGroup(1), inGroup(2), inGroup(3)),
			"task t, group g: 3 run at once, must be at most 2", []int{9, 10, 11}},
		"two of a sequence at once":   {all(sequence, asked(2), runAt(1, 100, 200), runAt(2, 150, 210), inGroup(1), inGroup(2)), "2 run at once, must be at most 1", []int{7, 8}},
		"a sequence in another order": {all(sequence, asked(2), runAt(1, 300, 400), runAt(2, 150, 210), inGroup(1), inGroup(2)), "job 2 begins before job 1, which is in front of it, has ended", []int{7, 8}},
		"a retry that lost its place": {all(sequence, asked(2), ran(1, 9, 1, 100, 110, "error"), ran(1, 10, 2, 150, 160, "ok"), runAt(2, 120, 130), inGroup(1, try(1, 9, "error")), inGroup(2)), "job 2 begins before job 1", []int{8, 9}},
		"a step that succeeds twice": {all(graph, theRun, runAt(1, 100, 200), runAt(2, 250, 300), item(1, "succeeded", "b", 0), item(2, "succeeded", "b", 0)),
			"run 9: step b, item 0 has succeeded twice, as jobs 1 and 2", []int{6, 7}},
		"a step before the one it needs": {all(graph, theRun, runAt(1, 100, 200), runAt(2, 199, 300), item(1, "succeeded", "a", 0), item(2, "succeeded", "b", 0)),
			"run 9: step b begins before step a, which it needs, has ended", []int{4, 5}},
		"more items than may run at once": {all(graph, theRun, runAt(1, 100, 200), runAt(2, 100, 200), runAt(3, 100, 200), item(1, "succeeded", "a", 0), item(2, "succeeded", "a", 1), item(3, "succeeded", "a", 2)),
			"run 9, step a: 3 run at once, must be at most 2", []int{4, 5, 6}},
		"a run that ends before its steps": {all(graph, theRun, record(1, "ready", `,"run":9,"trigger":"step","step":"a"`)), "run 9 is succeeded, and job 1 of its step a is ready", []int{3, 4}},
		"steps of a run that is lost":      {all(graph, runAt(1, 100, 200), item(1, "succeeded", "a", 0)), "run 9 has steps and is not in the record", []int{4, 5}},
		"uptime that is not that of the target": {[]string{
			`{"line":"target","monitor":"m","time":0,"state":"up"}`, `{"line":"target","monitor":"m","time":100,"state":"down"}`, `{"line":"target","monitor":"m","time":200,"state":"up"}`,
			`{"line":"monitor","name":"m","from":0,"to":1000,"up":1000,"down":0,"slack":10}`,
		}, "0s down are recorded, and by the log of its target it was down for 100µs, give or take 20µs", nil},
		"uptime whose parts are not the whole": {[]string{`{"line":"monitor","name":"m","from":0,"to":1000,"up":900,"down":0,"slack":10}`}, "its parts add up to 900µs of 1ms", []int{2}},
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := check(t, file(everything, c.lines...))
			if r.Err() == nil || !strings.Contains(texts(r), c.says) {
				t.Fatalf("not found; it says %q", texts(r))
			}
			at := slices.ContainsFunc(r.Violations, func(v Violation) bool { return strings.Contains(v.Text, c.says) && slices.Equal(v.Lines, c.at) })
			if c.at != nil && !at {
				t.Errorf("not with lines %v: %s", c.at, texts(r))
			}
		})
	}
}

func TestAHistoryOfNothingFails(t *testing.T) {
	t.Parallel()
	r := check(t, file(everything))
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "nothing was checked") {
		t.Errorf("%v", err)
	}
}
