package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

var allCodes = []core.Code{
	core.Invalid, core.NotFound, core.Conflict, core.Unauthorized,
	core.Forbidden, core.TooLarge, core.Unavailable, core.Unknown, core.Internal,
}

func TestEveryCodeHasItsOwnStatusAndComesBackFromIt(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for _, code := range allCodes {
		status := wire.StatusOf(code)
		if seen[status] || wire.CodeOf(status) != code || api.TitleOf(status) == "" {
			t.Errorf("%s: status %d, and back %s", code, status, wire.CodeOf(status))
		}
		seen[status] = true
	}
	for status, code := range map[int]core.Code{400: core.Invalid, 418: core.Invalid, 502: core.Unknown, 501: core.Internal, 302: core.Internal} {
		if wire.CodeOf(status) != code {
			t.Errorf("status %d is %s, want %s", status, wire.CodeOf(status), code)
		}
	}
	if wire.StatusOf("of another version") != http.StatusInternalServerError {
		t.Error("an unknown code is not our fault")
	}
}

func TestErrorsReachTheClientAsTheyWere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cause := errors.New("dial tcp 10.0.0.5: password=hunter2")
	for _, code := range allCodes {
		sent := &core.Error{
			Code: code, Message: "said so", Hint: "do this", Err: cause,
			Fields: []core.FieldError{{Field: "rules[0].cron", Value: "x", Message: "is wrong", Hint: "mend it"}},
		}
		b.fail(fmt.Errorf("while reading: %w", sent))
		_, err := b.client.Task(t.Context(), "ns", "n")
		var got *core.Error
		if !errors.As(err, &got) || core.CodeOf(err) != code {
			t.Errorf("%s: came back as %v", code, err)
			continue
		}
		if code == core.Internal {
			if !strings.HasPrefix(got.Message, "internal error, see request id ") || len(got.Fields) > 0 {
				t.Errorf("an internal error says %q", got.Error())
			}
			continue
		}
		want := *sent
		want.Err = nil
		same(t, string(code), *got, want)
	}
	status, _, body := b.raw(t, "GET", "/v1/tasks/n", "")
	if status != 500 || strings.Contains(body, "hunter2") || strings.Contains(body, "said so") {
		t.Errorf("leaked: %d %s", status, body)
	}
	if !strings.Contains(b.logged.text(), "hunter2") {
		t.Error("the cause is not in the log")
	}
	b.fail(cause)
	if _, err := b.client.Queues(t.Context()); core.CodeOf(err) != core.Internal || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a bare error came back as %v", err)
	}
	b.fail(context.DeadlineExceeded)
	if _, err := b.client.Queues(t.Context()); core.CodeOf(err) != core.Unavailable {
		t.Errorf("a deadline came back as %v", err)
	}
}

func TestBadInputIsRefusedByField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct{ method, path, body, field, says string }{
		{"POST", "/v1/tasks", `{"name":"t","timout":"5s"}`, "timout", "did you mean timeout?"},
		{"POST", "/v1/tasks", `{"name":"t","timeout":5}`, "timeout", `"90s"`},
		{"POST", "/v1/tasks", `{"name":"t","timeout":"5"}`, "timeout", "has no unit"},
		{"POST", "/v1/tasks", `{"name":7}`, "name", "is not text"},
		{"POST", "/v1/tasks", `{"name":"t","priority":"high"}`, "priority", "is not a whole number"},
		{"POST", "/v1/tasks", `{"name":"t","priority":1.5}`, "priority", "is not a whole number"},
		{"POST", "/v1/tasks", `{"name":"t","priority":99999999999999999999}`, "priority", "is out of range for a whole number"},
		{"GET", "/v1/tasks?limit=99999999999999999999", "", "limit", "is out of range for a whole number"},
		{"POST", "/v1/tasks", `{"name":"t","timeout":"106752d"}`, "timeout", "is longer than the 106751 days"},
		{"POST", "/v1/tasks", `{"name":"t","timeout":"99999999999h"}`, "timeout", "is longer than the 106751 days"},
		{"POST", "/v1/tasks", `{"name":"t","retry":[]}`, "retry", "is not an object"},
		{"POST", "/v1/tasks", `{"name":"t","http":{"url":"x","headers":{"A":1}}}`, "http.headers.A", "is not text"},
		{"POST", "/v1/tasks", `{"name":"t","created_at":"yesterday"}`, "created_at", "2026-01-31T12:00:00Z"},
		{"POST", "/v1/tasks", `[1]`, "body", "is not an object"},
		{"POST", "/v1/schedules", `{"name":"s","rules":[{"cron":"* * * * *"},{"evry":"5s"}]}`, "rules[1].evry", "did you mean every?"},
		{"POST", "/v1/schedules", `{"name":"s","rules":{}}`, "rules", "is not a list"},
		{"POST", "/v1/jobs/cancel", `{"ids":[1],"filter":{"limit":5}}`, "filter.limit", "is not a field here"},
		{"POST", "/v1/jobs/cancel", `{}`, "ids", "either ids or a filter"},
		{"POST", "/v1/jobs/cancel", `{"filter":{"states":["dead"]}}`, "filter.states", "is not a job state"},
		{"POST", "/v1/apply", `{"tasks":[{"name":"a"},{"nane":"b"}]}`, "tasks[1].nane", "did you mean name?"}, //nolint:misspell // the slip is the test
		{"PUT", "/v1/calendars/c", `{"closings":[{"weekly":"SAT"},{"date":"12-25"}]}`, "closings[1].date", "did you mean dates?"},
		{"PUT", "/v1/calendars/c", `{"name":"d"}`, "name", "differs"},
		{"POST", "/v1/apply", `{"calendars":[{"nmae":"c"}]}`, "calendars[0].nmae", "did you mean name?"}, //nolint:misspell // the slip is the test
		{"POST", "/v1/backfills", `{"schedule":"s","form":"2026-01-31T00:00:00Z"}`, "form", "did you mean from?"},
		{"POST", "/v1/backfills", `{"schedule":"s","from":"yesterday"}`, "from", "2026-01-31T12:00:00Z"},
		{"POST", "/v1/schedules/a/backfill", `{"schedule":"b"}`, "schedule", "differs"},
		{"POST", "/v1/backfills/0/pause", "", "id", "is not the id of a backfill"},
		{"GET", "/v1/backfills/x", "", "id", "is not a whole number"},
		{"POST", "/v1/look", `{}`, "name", "neither a name nor a draft"},
		{"POST", "/v1/look", `{"name":"s","n":1001}`, "n", "is outside 1 to 1000"},
		{"POST", "/v1/look", `{"name":"-s"}`, "name", "is not a name"},
		{"POST", "/v1/look", `{"name":"s","namespace":"*"}`, "namespace", "must be one"},
		{"POST", "/v1/look", `{"draft":{"rules":[{"corn":"* * * * *"}]}}`, "draft.rules[0].corn", "did you mean cron?"},
		{"POST", "/v1/look", `{"draft":{"jitter":5}}`, "draft.jitter", `"90s"`},
		{"POST", "/v1/look?namespace=x", `{"draft":{"namespace":"y"}}`, "draft.namespace", "differs"},
		{"GET", "/v1/schedules/a/next?n=5000", "", "n", "1000"},
		{"GET", "/v1/upcoming?within=24", "", "within", "is not a duration"},
		{"GET", "/v1/upcoming?within=0s", "", "within", "must be greater than 0"},
		{"GET", "/v1/upcoming?within=32d", "", "within", "is outside"},
		{"GET", "/v1/upcoming?limit=20000", "", "limit", "10000"},
		{"GET", "/v1/upcoming?form=now", "", "form", "did you mean from?"},
		{"GET", "/v1/forecast?within=-1h", "", "within", "must be greater than 0"},
		{"GET", "/v1/forecast?limit=5", "", "limit", "is not a parameter here"},
		{"GET", "/v1/forecast?from=today", "", "from", "2026-01-31T12:00:00Z"},
		{"PUT", "/v1/tasks/a", `{"name":"b"}`, "name", "differs"},
		{"PUT", "/v1/tasks/a?namespace=x", `{"namespace":"y"}`, "namespace", "differs"},
		{"GET", "/v1/tasks/a?namespace=*", "", "namespace", "must be one"},
		{"GET", "/v1/tasks/a?namespace=a/b", "", "namespace", "is not a name"},
		{"GET", "/v1/tasks/-a", "", "name", "is not a name"},
		{"GET", "/v1/tasks?limit=x", "", "limit", "is not a whole number"},
		{"GET", "/v1/tasks?limit=5000", "", "limit", "1000"},
		{"GET", "/v1/tasks?limit=5&limit=6", "", "limit", "is given 2 times"},
		{"GET", "/v1/jobs?state=ready&state=failed", "", "state", "separated by commas"},
		{"GET", "/v1/tasks?lmit=5", "", "lmit", "did you mean limit?"},
		{"GET", "/v1/tasks?kind=cobol", "", "kind", "one of command, cycle, dns, domain, func, grpc, http, page"},
		{"GET", "/v1/jobs?state=ready,dead", "", "state", "is not known"},
		{"GET", "/v1/jobs?since=today", "", "since", "2026-01-31T12:00:00Z"},
		{"GET", "/v1/jobs/zero", "", "id", "is not a whole number"},
		{"GET", "/v1/jobs/0", "", "id", "is not a job id"},
		{"GET", "/v1/jobs/1/logs?follow=maybe", "", "follow", "true nor false"},
		{"GET", "/v1/jobs/1/logs?follow=true&cursor=zzz", "", "cursor", "is not the id of an event"},
		{"GET", "/v1/events/poll?wait=5", "", "wait", "is not a duration"},
		{"GET", "/v1/events/poll?wait=-5s", "", "wait", "is negative"},
		{"GET", "/v1/monitors?status=broken", "", "status", "one of new, up, down, paused"},
		{"GET", "/v1/monitors?kind=cobol", "", "kind", "heartbeat"},
		{"GET", "/v1/monitors?stauts=up", "", "stauts", "did you mean status?"},
		{"POST", "/v1/monitors", `{"name":"m","chek":{}}`, "chek", "did you mean check?"},
		{"POST", "/v1/monitors", `{"name":"m","check":{"http":{"ulr":"x"}}}`, "check.http.ulr", "did you mean url?"}, //nolint:misspell // the slip is the test
		{"POST", "/v1/monitors", `{"name":"m","every":60}`, "every", `"90s"`},
		{"POST", "/v1/monitors", `{"name":"m","confirm":{"failures":"2"}}`, "confirm.failures", "is not a whole number"},
		{"POST", "/v1/monitors", `{"name":"m","heartbeat":true}`, "heartbeat", "is not an object"},
		{"PUT", "/v1/monitors/a", `{"name":"b"}`, "name", "differs"},
		{"PUT", "/v1/monitors/a?namespace=x", `{"namespace":"y"}`, "namespace", "differs"},
		{"GET", "/v1/monitors/-a", "", "name", "is not a name"},
		{"POST", "/v1/monitors/a/pause", `{"for":"1h","until":"2030-01-01T00:00:00Z"}`, "for", "cannot stand beside until"},
		{"POST", "/v1/monitors/a/pause", `{"for":"-1h"}`, "for", "is negative"},
		{"POST", "/v1/monitors/a/pause", `{"until":"tomorrow"}`, "until", "2026-01-31T12:00:00Z"},
		{"GET", "/v1/monitors/a/results?outcome=bad", "", "outcome", "one of ok, degraded, fail, error"},
		{"GET", "/v1/monitors/a/series?step=0s", "", "step", "is not a length of time"},
		{"GET", "/v1/monitors/a/series?step=5", "", "step", "is not a length of time"},
		{"GET", "/v1/monitors/a/timeline?from=ever", "", "from", "2026-01-31T12:00:00Z"},
		{"GET", "/v1/monitors/a/versions/0", "", "version", "newest or baseline"},
		{"GET", "/v1/monitors/a/versions/oldest", "", "version", "newest or baseline"},
		{"POST", "/v1/monitors/a/versions/-1/accept", "", "version", "newest or baseline"},
		{"GET", "/v1/monitors/a/diff?from=x", "", "from", "is not a version"},
		{"GET", "/v1/monitors/a/diff?to=0", "", "to", "is not a version"},
		{"GET", "/v1/incidents?open=maybe", "", "open", "true nor false"},
		{"GET", "/v1/incidents/0", "", "id", "is not the id of an incident"},
		{"POST", "/v1/incidents/0/acknowledge", "", "id", "is not the id of an incident"},
		{"POST", "/v1/incidents/1/acknowledge", `{"note":1}`, "note", "is not text"},
		{"POST", "/v1/incidents/1/updates", `{"text":"x","stat":"y"}`, "stat", "did you mean state?"},
		{"GET", "/v1/alerts/0/tries", "", "id", "is not the id of an alert"},
		{"GET", "/v1/alerts?state=lost", "", "state", "one of pending, sent, failed, suppressed"},
		{"PUT", "/v1/channels/c", `{"webhook":{"url":"x","headers":{"A":1}}}`, "webhook.headers.A", "is not text"},
		{"PUT", "/v1/channels/c", `{"email":{"too":["x"]}}`, "email.too", "did you mean to?"},
		{"PUT", "/v1/channels/c", `{"name":"d"}`, "name", "differs"},
		{"PUT", "/v1/alert-rules/r", `{"channel":["x"]}`, "channel", "did you mean channels?"},
		{"PUT", "/v1/windows/w?namespace=x", `{"namespace":"y"}`, "namespace", "differs"},
		{"PUT", "/v1/status-pages/p", `{"sections":{}}`, "sections", "is not a list"},
		{"POST", "/v1/windows/preview", `{}`, "from", "is missing"},
		{"POST", "/v1/windows/preview", `{"rules":[{"cron":"0 3 * * *"}]}`, "lasts", "is missing"},
		{"POST", "/v1/windows/preview?n=5000", `{}`, "n", "1000"},
		{"POST", "/v1/apply", `{"monitors":[{"nmae":"m"}]}`, "monitors[0].nmae", "did you mean name?"}, //nolint:misspell // the slip is the test
		{"POST", "/v1/checks/try", `{}`, "check", "is missing"},
		{"POST", "/v1/checks/try", `{"monitor":"-m"}`, "monitor", "is not a name"},
		{"POST", "/v1/checks/try?namespace=x", `{"namespace":"y"}`, "namespace", "differs"},
		{"POST", "/v1/checks/try", `{"check":{"http":{"url":"ftp://x"}}}`, "check.http.url", "neither http nor https"},
		{"POST", "/v1/checks/try", `{"check":{"tcp":{"address":"x"}}}`, "check.tcp.address", "is not host:port"},
		{"POST", "/v1/checks/try", `{"check":{"command":{"argv":["id"]}}}`, "check.kind", "cannot be tried"},
		{"POST", "/v1/checks/try", `{"check":{"http":{"url":"https://x","auth":{"bearer":"(kept secret)"}}}}`, "check.http.auth.bearer", "stands for a secret"},
		{"POST", "/v1/sessions/s/claim", `{"want":{"q":-1}}`, "want.q", "is outside"},
		{"POST", "/v1/sessions/s/claim", `{"want":{},"wait":"-1s"}`, "wait", "is negative"},
		{"POST", "/v1/sessions/s/finish", `{"attempts":[{"job_id":1,"lease":1,"outcome":"ok"},{"job_id":1,"lease":1,"outcome":"fine"}]}`, "attempts[1].outcome", "is not an outcome"},
		{"POST", "/v1/sessions/s/logs", `{"pieces":[{"job_id":1,"lease":1,"seq":0,"stream":"x","at":"2026-01-31T12:00:00Z","text":""}]}`, "pieces[0].stream", "is not a stream"},
	} {
		p := b.refused(t, 422, c.method, c.path, c.body)
		if p.Code != core.Invalid || len(p.Errors) != 1 {
			t.Errorf("%s %s %s: %+v", c.method, c.path, c.body, p)
			continue
		}
		f := p.Errors[0]
		if f.Field != c.field || !strings.Contains(f.String(), c.says) {
			t.Errorf("%s %s %s: says %q of %q, want %q of %q", c.method, c.path, c.body, f.String(), f.Field, c.says, c.field)
		}
	}
	if b.last() != nil {
		t.Errorf("bad input reached the service: %v", b.last())
	}
	p := b.refused(t, 422, "POST", "/v1/tasks", `{"a":1,"b":2,"timeout":3}`)
	if len(p.Errors) != 3 {
		t.Errorf("not every fault is named: %+v", p.Errors)
	}
	p = b.refused(t, 422, "POST", "/v1/tasks", "{\n\"name\": \"t\",\n \"x\" }")
	if !strings.Contains(p.Detail, "line 3, column 6") {
		t.Errorf("a syntax error says %q", p.Detail)
	}
	p = b.refused(t, 422, "POST", "/v1/tasks", `{"name":"t"} {}`)
	if !strings.Contains(p.Detail, "goes on") {
		t.Errorf("a second value says %q", p.Detail)
	}
	b.refused(t, 422, "POST", "/v1/tasks", "")
	b.refused(t, 415, "POST", "/v1/tasks", `name=t`, "Content-Type", "application/x-www-form-urlencoded")
	b.refused(t, 415, "POST", "/v1/tasks", `{}`, "Content-Type", "")
}

func TestAnswersDoNotRepeatLongInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("x", 20_000)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/tasks", `{"name":"` + long + `"}`},
		{"POST", "/v1/tasks", `{"` + long + `":1}`},
		{"POST", "/v1/tasks", `{"name":"t","http":{"headers":{"` + long + `":1}}}`},
		{"POST", "/v1/jobs", `{"task":"` + long + `"}`},
		{"POST", "/v1/tokens", `{"name":"` + long + `"}`},
		{"PUT", "/v1/queues/" + long, `{}`},
		{"POST", "/v1/sessions/a/steps", `{"job_id":1,"lease":1,"number":1,"name":"` + long + `"}`},
		{"POST", "/v1/sessions/" + long + "/claim", `{}`},
		{"GET", "/v1/jobs?" + long + "=1", ""},
	} {
		if _, _, got := b.raw(t, c.method, c.path, c.body); len(got) > 4000 {
			t.Errorf("%s %s is answered with %d bytes: %s", c.method, c.path[:min(len(c.path), 40)], len(got), got[:300])
		}
	}
}

func TestAnICalendarFileIsRefusedWhereItIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	event := strings.Replace(holidaysICS, "DTSTART;VALUE=DATE:20270101", "DTSTART;VALUE=DATE:20270132", 1)
	for _, c := range []struct{ query, body, field, says string }{
		{"?zone=Europe/Sophia", holidaysICS, "zone", "Europe/Sofia"},
		{"?zone=Local", holidaysICS, "zone", "Local"},
		{"", "hello", "ics", "RFC 5545"},
		{"", "BEGIN:VCALENDAR\r\n", "ics", "END:VCALENDAR"},
		{"", event, "ics", `event "New Year"`},
		{"?name=x", holidaysICS, "name", "is not a parameter here"},
	} {
		p := b.refused(t, 422, "POST", "/v1/calendars/c/ics"+c.query, c.body, "Content-Type", wire.IcsType)
		if len(p.Errors) != 1 || p.Errors[0].Field != c.field || !strings.Contains(p.Errors[0].String(), c.says) {
			t.Errorf("%s %q: %+v", c.query, c.body, p)
		}
	}
	b.refused(t, 415, "POST", "/v1/calendars/c/ics", holidaysICS)
	if p := b.refused(t, 415, "POST", "/v1/calendars/c/ics", holidaysICS, "Content-Type", wire.IcsType, "Content-Encoding", "gzip"); !strings.Contains(p.Detail, "encoded as gzip") {
		t.Errorf("%+v", p)
	}
	b.refused(t, 422, "POST", "/v1/calendars/c/ics", "", "Content-Type", wire.IcsType)
	b.refused(t, 422, "POST", "/v1/calendars/-c/ics", holidaysICS, "Content-Type", wire.IcsType)
	if b.last() != nil {
		t.Errorf("a bad file reached the service: %v", b.last())
	}
	large := strings.Repeat("x", schedule.MaxICS+1)
	if p := b.refused(t, 413, "POST", "/v1/calendars/c/ics", large, "Content-Type", wire.IcsType); !strings.Contains(p.Detail, "4 MiB") {
		t.Errorf("the limit is not named: %+v", p)
	}
	if _, err := b.client.ImportICS(t.Context(), "ns", "c", strings.NewReader(large), ""); core.CodeOf(err) != core.TooLarge {
		t.Errorf("the client sends what is too large: %v", err)
	}
	if _, err := b.client.ImportICS(t.Context(), "ns", "c", strings.NewReader(event), ""); core.CodeOf(err) != core.Invalid {
		t.Errorf("the client got %v", err)
	}
	if _, err := b.client.SetBackfill(t.Context(), "ns", 1, schedule.BackfillCompleted); core.CodeOf(err) != core.Invalid {
		t.Errorf("a backfill that is to be completed: %v", err)
	}

	// One that is not there yet has no description to keep.
	b.when("Calendar", func(context.Context, []any) (any, error) { return nil, core.Errorf(core.NotFound, "no") })
	status, _, body := b.raw(t, "POST", "/v1/calendars/c/ics?zone=Europe/Sofia", holidaysICS, "Content-Type", "text/calendar; charset=utf-8")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	same(t, "a new calendar", b.last(), []any{"SaveCalendar", schedule.Calendar{Namespace: "default", Name: "c", CalendarSpec: holidays}})
	b.when("Calendar", func(context.Context, []any) (any, error) { return nil, errors.New("disk") })
	b.refused(t, 500, "POST", "/v1/calendars/c/ics", holidaysICS, "Content-Type", wire.IcsType)
}

func TestBodiesAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.MaxBody, o.MaxApply = 2<<10, 64<<10 })
	long := `{"name":"t","description":"` + strings.Repeat("x", 4<<10) + `"}`
	p := b.refused(t, 413, "POST", "/v1/tasks", long)
	if p.Code != core.TooLarge || !strings.Contains(p.Detail, "2 KiB") {
		t.Errorf("the limit is not named: %+v", p)
	}
	if status, _, body := b.raw(t, "POST", "/v1/apply", `{"tasks":[`+long+`]}`); status != 200 {
		t.Errorf("a manifest may be larger: %d %s", status, body)
	}
	b.refused(t, 413, "POST", "/v1/apply", `{"tasks":[{"description":"`+strings.Repeat("x", 65<<10)+`"}]}`)

	// Without a stated length the limit is met while reading.
	req, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/v1/tasks", struct{ *strings.Reader }{strings.NewReader(long)})
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = -1
	req.Header.Set("Authorization", "Bearer root")
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("a chunked body over the limit: %d", resp.StatusCode)
	}

	_, err = b.client.CreateTask(t.Context(), task.Task{Name: "t", Description: strings.Repeat("x", 4<<10)})
	if core.CodeOf(err) != core.TooLarge {
		t.Errorf("the client got %v", err)
	}
}

func TestAPanicIsAnsweredAndTheServerLives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.when("Task", func(context.Context, []any) (any, error) { panic("secret of the panic") })
	p := b.refused(t, 500, "GET", "/v1/tasks/n", "")
	if p.Code != core.Internal || strings.Contains(p.Detail, "secret") || !strings.Contains(p.Detail, p.RequestID) {
		t.Errorf("a panic is answered with %+v", p)
	}
	log := b.logged.text()
	if !strings.Contains(log, "secret of the panic") || !strings.Contains(log, "errors_test.go") || !strings.Contains(log, p.RequestID) {
		t.Errorf("the log lacks the panic, its stack or the request id: %s", log)
	}
	if _, err := b.client.Queues(t.Context()); err != nil {
		t.Errorf("after a panic: %v", err)
	}
	// Once a stream has begun there is nothing left to answer but to cut it off.
	b.when("Events", func(_ context.Context, args []any) (any, error) {
		if args[1] == "" {
			return wire.EventPage{Next: "1"}, nil
		}
		panic("in the stream")
	})
	resp := b.open(t, "/v1/events")
	defer resp.Body.Close()
	r := wire.NewSSEReader(resp.Body, func() {})
	for {
		if _, err := r.Next(); err != nil {
			break
		}
	}
	if _, err := b.client.Queues(t.Context()); err != nil {
		t.Errorf("after a panic in a stream: %v", err)
	}
}

func TestPathsAndMethodsThatAreNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if p := b.refused(t, 404, "GET", "/v1/taks", ""); p.Code != core.NotFound {
		t.Errorf("%+v", p)
	}
	_, h, _ := b.raw(t, "PATCH", "/v1/tasks/n", `{}`)
	if h.Get("Allow") != "DELETE, GET, HEAD, PUT" {
		t.Errorf("Allow is %q", h.Get("Allow"))
	}
	b.refused(t, 405, "PATCH", "/v1/tasks/n", `{}`)
	for _, path := range []string{"/v1/tasks/n", "/v1/events", "/v1/jobs/1/logs?follow=true"} {
		if status, _, body := b.raw(t, "HEAD", path, ""); status != 200 || body != "" {
			t.Errorf("HEAD %s: %d %q", path, status, body)
		}
	}
}

func TestHostsAndOriginsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) {
		o.Hosts = []string{"127.0.0.1", "belfry.example", "[::1]"}
		o.Origins = []string{"https://ops.example"}
	})
	if p := b.refused(t, 421, "GET", "/v1/tasks", "", "Host", "evil.example:80"); p.Code != core.Forbidden || !strings.Contains(p.Hint, "belfry.example") {
		t.Errorf("%+v", p)
	}
	for _, host := range []string{"BELFRY.example:8350", "[::1]:1", "127.0.0.1"} {
		if status, _, body := b.raw(t, "GET", "/v1/tasks", "", "Host", host); status != 200 {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	for _, probe := range []string{"/healthz", "/readyz"} {
		b.when("Health", func(context.Context, []any) (any, error) { return view.Health{}, nil })
		if status, _, body := b.raw(t, "GET", probe, "", "Host", "10.1.2.3:8350"); status != 200 {
			t.Errorf("a probe by address: %d %s", status, body)
		}
	}
	b.refused(t, 403, "POST", "/v1/tasks", `{"name":"t"}`, "Sec-Fetch-Site", "cross-site")
	b.refused(t, 403, "POST", "/v1/tasks", `{"name":"t"}`, "Origin", "https://evil.example")
	if status, _, body := b.raw(t, "POST", "/v1/tasks", `{"name":"t"}`, "Origin", "https://ops.example", "Sec-Fetch-Site", "cross-site"); status != 201 {
		t.Errorf("a trusted origin: %d %s", status, body)
	}
}

func TestRequestsCarryAnIDAndSafeHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, h, _ := b.raw(t, "GET", "/v1/tasks", "", "X-Request-Id", "from-a-proxy.1")
	if h.Get("X-Request-Id") != "from-a-proxy.1" {
		t.Error("a plain request id is not kept")
	}
	_, h, _ = b.raw(t, "GET", "/v1/tasks", "", "X-Request-Id", "no good {}")
	if id := h.Get("X-Request-Id"); len(id) != 16 {
		t.Errorf("request id %q", id)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Content-Type": "application/json",
	} {
		if h.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, h.Get(name), want)
		}
	}
}

// A foreign namespace is refused before the selection is read, and paths of an
// API that do not exist answer a program in JSON, whatever else is served.
func TestRefusalsComeBeforeValidationAndPages(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) {
		o.Console = func(*Server) (http.Handler, error) {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/sign-in", http.StatusSeeOther) }), nil
		}
	})
	for _, verb := range []string{"cancel", "retry"} {
		for _, body := range []string{`{}`, `{"ids":[]}`, `{"ids":[0]}`, `{"filter":{"namespace":"team-b"},"ids":[1]}`} {
			query := map[bool]string{true: "", false: "?namespace=team-b"}[strings.Contains(body, "team-b")]
			if status, _, text := b.raw(t, "POST", "/v1/jobs/"+verb+query, body, "Authorization", "Bearer team"); status != 403 {
				t.Errorf("%s %s: %d %s", verb, body, status, text)
			}
		}
	}
	for _, path := range []string{"/v2/x", "/V1/x", "/v1/nowhere", "/v2"} {
		if status, h, _ := b.raw(t, "GET", path, "", "Authorization", ""); status != 404 || h.Get("Content-Type") != wire.ProblemType {
			t.Errorf("%s: %d %s", path, status, h.Get("Content-Type"))
		}
	}
	if status, _, _ := b.raw(t, "GET", "/nowhere", ""); status != 404 {
		t.Errorf("a path that does not exist, with a token: %d", status)
	}
	if status, _, _ := b.raw(t, "GET", "/nowhere", "", "Authorization", ""); status != 303 {
		t.Errorf("a page, without one: %d", status)
	}
}
