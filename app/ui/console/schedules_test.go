package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func TestScheduleIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/schedules/hourly")
	opens(b, "pause")
	b.Shows("Pause schedule hourly?", "Waiting jobs are canceled", "As a command")
	picture(b, "schedule-pause")
	b.Axe()
	b.Type("#f-reason", "the <b>disk</b> is full")
	s.sends(b, "#pause button.main", "Schedule hourly is paused", "Paused by token:", "the <b>disk</b> is full", "They would be these.")
	b.Visit(s.url + "/schedules?state=paused")
	b.Shows("hourly", "Paused by token:", "the <b>disk</b> is full")
	b.Visit(s.url + "/schedules/hourly")
	opens(b, "resume")
	b.Shows("Catch up on missed runs", "only the latest is made up")
	b.Axe()
	b.Click("#f-catch_up")
	s.sends(b, "#resume button.main", "is resumed, and catches up", "active")
	if sc := must(s.Schedule(t.Context(), "", "hourly"))(s); sc.State != schedule.Active {
		t.Errorf("%+v", sc)
	}
}

func TestSchedulesArePausedAndResumedTogether(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	for _, name := range []string{"morning", "evening"} {
		must(s.CreateSchedule(t.Context(), schedule.Schedule{Name: name, Task: "hello", Rules: []schedule.Rule{{Every: core.Duration(time.Hour)}}}))(s)
	}
	must(s.PauseSchedule(t.Context(), "", "morning", "before"))(s)
	b := s.at("/schedules")
	for _, name := range []string{"morning", "evening", "hourly"} {
		b.Click("input[value='default/" + name + "']")
	}
	s.sends(b, "button[value=pause]", "Pause 2 schedules?", "Left as they are, because they are paused or completed already: morning.", "As a command")
	picture(b, "schedules-bulk")
	b.Layout()
	b.Axe()
	if sc := must(s.Schedule(t.Context(), "", "hourly"))(s); sc.State != schedule.Active {
		t.Error("paused before it was said so")
	}
	b.Type("#f-reason", "moving house")
	s.sends(b, "button.main", "2 schedules are paused.", "moving house", "before")
	b.Click("input[value='default/evening']")
	b.Follow("button[value=resume]")
	b.Shows("Resume 1 schedule?", "moving house")
	s.sends(b, "button.main", "1 schedule is resumed.")
	for name, want := range map[string]schedule.State{"morning": schedule.Paused, "hourly": schedule.Paused, "evening": schedule.Active} {
		if sc := must(s.Schedule(t.Context(), "", name))(s); sc.State != want {
			t.Errorf("%s is %s", name, sc.State)
		}
	}
	if status, body := s.visitor(s.admin).post("/schedules/-bulk", "do", "pause"); status != 422 || !strings.Contains(body, "none is selected") {
		t.Errorf("%d %s", status, body)
	}
}

func TestScheduleIsTriggeredWithOtherInput(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/schedules/hourly/trigger")
	b.Type("#f-input", "{\n  \"day\": one\n}")
	b.Follow("button.main")
	b.Quiet(s.url, 422, 400)
	b.Shows("is not JSON", "line 2, column 10:")
	picture(b, "schedule-trigger-fault")
	b.Axe()
	put(b, "#f-input", `{"day": 1}`)
	s.sends(b, "button.main", "Schedule hourly created job", "by hand", "ready")
	jobs := must(s.Jobs(t.Context(), job.Filter{Schedule: "hourly"}))(s)
	if len(jobs.Items) != 1 || string(jobs.Items[0].Input) != `{"day": 1}` && string(jobs.Items[0].Input) != `{"day":1}` {
		t.Errorf("%+v", jobs.Items)
	}
}

func TestScheduleIsMadeWhileItsTimesShow(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/schedules/-new?task=hello")
	b.Shows("Write a rule to see when it runs.")
	b.Type("#rule-text-1", "30 2 * * MON")
	b.Until(`document.getElementById('preview').innerText.includes('Next 10 times')`)
	b.Shows("02:30 UTC")
	put(b, "#f-zone", "Europe/Sofia")
	b.Until(`/02:30 EES?T/.test(document.getElementById('preview').innerText)`) // as the season is
	put(b, "#rule-text-1", "61 * * * *")
	b.Until(`document.querySelector('#preview .fault')`)
	b.Quiet(s.url)
	// What is wrong stands at its field.
	b.Type("#f-name", "no such name!")
	b.Follow("button.main[value=save]")
	b.Quiet(s.url, 422, 400)
	b.Shows("New schedule")
	if text := b.Text(".rule .fault"); !strings.Contains(text, "61") && !strings.Contains(text, "minute") {
		t.Errorf("at the rule it says %q", text)
	}
	picture(b, "schedule-new-fault")
	b.Layout()
	b.Axe()
	put(b, "#f-name", "weekly")
	put(b, "#rule-text-1", "30 2 * * MON")
	b.Follow("form.editor button[value=rule]:not(.away)")
	put(b, "#rule-kind-2", "every")
	put(b, "#rule-text-2", "90 parsecs")
	s.sends(b, "form.editor .actions button[value=preview]", "is not a length of time")
	put(b, "#rule-text-2", "90 minutes")
	put(b, "#f-overlap", "allow")
	put(b, "#f-blackout", "nights")
	put(b, "#f-start", "2027-01-01 00:00")
	put(b, "#f-input", `{"a": 1}`)
	b.Until(`document.getElementById('preview').innerText.includes('Not in the times of calendar nights')`)
	picture(b, "schedule-new")
	s.sends(b, "button.main[value=save]", "Created schedule weekly.", "30 2 * * MON + every 1h30m", "run both", "nights")
	sc := must(s.Schedule(t.Context(), "", "weekly"))(s)
	if len(sc.Rules) != 2 || sc.Zone != "Europe/Sofia" || sc.Overlap != schedule.OverlapAllow || len(sc.Blackout) != 1 ||
		!sc.Start.Equal(time.Date(2026, 12, 31, 22, 0, 0, 0, time.UTC)) || len(sc.Input) == 0 {
		t.Errorf("%+v", sc)
	}
}

func TestTheEditPageShowsChangedRuns(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/schedules/hourly/edit")
	put(b, "#rule-text-1", "0,30 * * * *")
	put(b, "#f-jitter", "5s")
	s.sends(b, "button.main[value=review]", "Save this edit of hourly?", "0 * * * *", "0,30 * * * *", "Its times change.", "+ only after", "= in both", "5s")
	picture(b, "schedule-review")
	var first bool // however many times change
	if b.Eval(`document.querySelector('button[value=save]').compareDocumentPosition(document.getElementById('next-times')) === Node.DOCUMENT_POSITION_FOLLOWING`, &first); !first {
		t.Error("Save is below the list of times")
	}
	b.Layout()
	b.Axe()
	if sc := must(s.Schedule(t.Context(), "", "hourly"))(s); sc.RuleText() != "0 * * * *" {
		t.Error("saved before it was said so")
	}
	// Another person saves first: the preview no longer fits what this one would save.
	other := must(s.Schedule(t.Context(), "", "hourly"))(s)
	other.Description = "of another person"
	must(s.UpdateSchedule(t.Context(), other))(s)
	b.Follow("button.main[value=save]")
	b.Quiet(s.url, http.StatusConflict)
	b.Shows("Changed by", "of another person", "taken over", "Saving it keeps the other edit")
	picture(b, "schedule-clash")
	b.Layout()
	b.Axe()
	put(b, "#f-description", "of another person")
	b.Follow("button.main[value=review]")
	s.sends(b, "button.main[value=save]", "Schedule hourly is saved.", "0,30 * * * *", "of another person")
	// An edit that does not touch times says so.
	b.Visit(s.url + "/schedules/hourly/edit")
	put(b, "#f-overlap", "buffer_one")
	b.Follow("button.main[value=review]")
	b.Shows("Its times stay as they are", "one run waits, others are skipped")
	// An edit of the title alone can be saved.
	b.Visit(s.url + "/schedules/hourly/edit")
	put(b, "#f-title", "Each hour")
	b.Follow("button.main[value=review]")
	s.sends(b, "button.main[value=save]", "Schedule hourly is saved.", "Each hour")
}

// An edit keeps what its form cannot show: the fields of an rrule, fractions
// of seconds.
func TestEditKeepsTimes(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	sc := must(s.CreateSchedule(t.Context(), schedule.Schedule{Name: "fine", Task: "hello", Zone: "Europe/Sofia", Start: time.Date(2026, 1, 31, 7, 0, 0, 1000, time.UTC),
		Input: []byte(`{"b":1,"a":[1,2]}`),
		Rules: []schedule.Rule{{RRule: "FREQ=MONTHLY;BYDAY=-1FR", DTStart: "2026-01-31T09:00:00", ExDate: []string{"2027-01-29T09:00:00"}},
			{Every: core.Duration(time.Hour), Anchor: schedule.AnchorFinish}, {At: []time.Time{time.Date(2030, 10, 27, 1, 30, 0, 0, time.UTC)}}}}))(s)
	b := s.at("/schedules/fine/edit")
	put(b, "#f-description", "the last Friday")
	s.sends(b, "button.main[value=review]", "Its times stay as they are")
	b.Follow("button.main[value=save]")
	b.Shows("Schedule fine is saved.")
	if now := must(s.Schedule(t.Context(), "", "fine"))(s); !now.SameTimes(sc) || now.Generation != sc.Generation || string(now.Input) != string(sc.Input) {
		t.Errorf("%+v\nwas %+v", now, sc)
	}
}

func TestScheduleIsDeleted(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/schedules/hourly")
	opens(b, "delete")
	b.Shows("Delete schedule hourly?")
	b.Follow("#delete button[class=danger]")
	b.Quiet(s.url, 404) // the page that was left may have looked once more
	b.Shows("Schedule hourly is deleted.", "There is no schedule yet.")
}

func TestBackfillIsSeenBeforeItStarts(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/schedules/hourly/backfill")
	put(b, "#f-from", "yesterday")
	s.sends(b, "form[method=get] button.main", "is not a time")
	if from := value(b, "#f-from"); from != "yesterday" {
		t.Errorf("the form says %q", from)
	}
	put(b, "#f-from", "2026-03-29 00:00") // in whose night Sofia loses an hour
	put(b, "#f-to", "2026-03-29 05:00")
	put(b, "#f-only_missing", "false")
	put(b, "#f-note", "the outage")
	s.sends(b, "form[method=get] button.main", "Would create 5 jobs", "5 times lie there", "EEST")
	picture(b, "schedule-backfill")
	b.Layout()
	b.Axe()
	s.sends(b, "form[method=post][action$=backfill] button.main", "has started.", "the outage", "active", "0 jobs")
	all := must(s.Backfills(t.Context(), schedule.BackfillFilter{Schedule: "hourly"}))(s).Items
	if len(all) != 1 || all[0].Note != "the outage" || all[0].OnlyMissing {
		t.Fatalf("%+v", all)
	}
	id := fmt.Sprint(all[0].ID)
	s.sends(b, "form[action$='backfills/"+id+"/pause'] button", "Backfill "+id+" is paused", "paused")
	b.Follow("form[action$='backfills/" + id + "/resume'] button")
	b.Shows("Backfill " + id + " goes on")
	opens(b, "cancel-"+id)
	s.sends(b, "#cancel-"+id+" button[class=danger]", "Backfill "+id+" is canceled", "canceled")
}

// What a node does shows up by itself: jobs, skips and why, the strip and the
// year.
func TestAScheduleShowsTheResultsOfItsTimes(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) { c.Roles = []string{config.RoleAPI, config.RoleEngine} })
	ctx := t.Context()
	must(s.CreateTask(ctx, task.Task{Name: "hello", Kind: task.KindFunc, Retry: task.Retry{MaxAttempts: 1}}))(s)
	b := s.tab(s.admin)
	must(s.CreateSchedule(ctx, schedule.Schedule{Name: "pulse", Task: "hello", Rules: []schedule.Rule{{Cron: "* * * * * *"}}}))(s)
	// No worker runs the first, so the next are skipped.
	skipped := schedule.OccurrenceFilter{Schedule: "pulse", Decision: schedule.DecidedSkipped}
	for look := time.NewTicker(50 * time.Millisecond); len(must(s.Occurrences(ctx, skipped))(s).Items) == 0; {
		<-look.C
	}
	b.Visit(s.url + "/schedules/pulse")
	b.Shows("enqueued", "ready", "the previous run was still going")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	must(s.PauseSchedule(ctx, "", "pulse", "enough"))(s)
	b.Until(`document.getElementById('schedule').innerText.includes('enough')`)
	must(s.TriggerSchedule(ctx, "", "pulse", job.RunNow{}))(s)
	s.failNext("hello", "the disk is full")
	b.Visit(s.url + "/schedules/pulse?decision=skipped")
	b.Shows("Past year", "1 failed", "of which 1 failed", "Last", "failed", "the previous run was still going")
	var said string
	b.Eval(`document.querySelector('.strip').getAttribute('aria-label')`, &said)
	if !strings.Contains(said, "skipped") || !strings.Contains(said, "1 bad") {
		t.Errorf("the strip says %q", said)
	}
	for _, as := range []struct {
		scheme string
		width  int
	}{{"light", 1200}, {"dark", 1200}, {"light", 360}} {
		b.Emulate(as.scheme, as.width)
		b.Layout()
		picture(b, fmt.Sprintf("schedule-full-%s-%d", as.scheme, as.width))
	}
	b.Quiet(s.url)
	b.Axe()
	b.Visit(s.url + "/schedules")
	picture(b, "schedules-full")
	b.Shows("failed", "enough")
}

// What has a zone begins with that of the browser, which a person may change, or with UTC where times are shown so.
func TestNewThingsBeginWithTheZoneOfTheBrowser(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.tab(s.admin)
	b.Call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "Asia/Tokyo"}, nil)
	zone := func(path, want string) string {
		t.Helper()
		b.Visit(s.url + path)
		if b.Until(`(i => i.value === '` + want + `' && (!i.list || i.list.options.length > 300))(document.querySelector('main input[name=zone]'))`); want != "Asia/Tokyo" {
			b.Until(`document.querySelector('main input[name=zone]').list.options.length > 300`) // the script was there
		}
		return value(b, "main input[name=zone]")
	}
	for path, want := range map[string]string{
		"/schedules/-new": "Asia/Tokyo", "/calendars/-new": "Asia/Tokyo", "/settings/windows/-new": "Asia/Tokyo", "/status-pages/public/announcements/-new": "Asia/Tokyo",
		"/settings/windows/-new?preset=hour": "UTC", // of the times that it fills in
		"/schedules/hourly/edit":             "Europe/Sofia",
	} {
		if got := zone(path, want); got != want {
			t.Errorf("%s begins with %s, want %s", path, got, want)
		}
	}
	zone("/schedules/-new", "Asia/Tokyo")
	put(b, "main input[name=zone]", "UTC")
	b.Until(`Object.keys(sessionStorage).some(k => k.startsWith('belfry-draft:') && sessionStorage.getItem(k).includes('"UTC"'))`)
	if got := zone("/schedules/-new", "UTC"); got != "UTC" {
		t.Errorf("the draft has %s", got)
	}
	picture(b, "schedule-new-zone")
	b.Click(".zones summary")
	b.Follow(".zones button[value=utc]")
	if got := zone("/settings/windows/-new", "UTC"); got != "UTC" {
		t.Errorf("where times are shown in UTC, it begins with %s", got)
	}
	b.Quiet(s.url)
}
