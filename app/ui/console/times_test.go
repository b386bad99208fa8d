package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Times are shown as the browser has chosen, by the server and on all pages.
func TestTimesAreShownInOneZone(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	j := must(s.Jobs(t.Context(), job.Filter{Task: "broken"}))(s).Items[0]
	b := s.tab(s.admin)
	b.Call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "Asia/Dubai"}, nil)
	zones := func(path string) string {
		t.Helper()
		b.Visit(s.url + path)
		var all string
		b.Eval(`[...new Set([...document.querySelectorAll('main time .zone')].map(e => e.textContent))].sort().join()`, &all)
		return all
	}
	clock := func(zone string) string {
		at, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		layout := "15:04"
		if created := j.CreatedAt.In(at); created.Second() != 0 {
			layout = "15:04:05"
		}
		return j.CreatedAt.In(at).Format(layout) + " " + zone
	}
	job := fmt.Sprint("/jobs/", j.ID)
	choose := func(how string) {
		t.Helper()
		b.Visit(s.url + job)
		b.Until(`document.documentElement.classList.contains('scripted')`)
		b.Click(".zones summary")
		b.Follow(".zones button[value=" + how + "]")
		b.Quiet(s.url)
	}
	for _, tt := range []struct{ how, job, schedule string }{
		{"", "UTC", "Europe/Sofia"}, {"utc", "UTC", "UTC"}, {"mine", "Asia/Dubai", "Asia/Dubai"}, {"schedule", "UTC", "Europe/Sofia"},
	} {
		if tt.how != "" {
			choose(tt.how)
		}
		if got := zones(job); got != tt.job {
			t.Errorf("%q: the job shows %q", tt.how, got)
		}
		b.Shows(clock(tt.job))
		if got := zones("/schedules/hourly"); !strings.Contains(got, tt.schedule) || strings.Contains(got, ",") && tt.how != "" && tt.how != "schedule" {
			t.Errorf("%q: the schedule shows %q", tt.how, got)
		}
		b.Visit(s.url + "/")
		settled(b)
		picture(b, "times-"+tt.how)
		b.Axe()
	}
	choose("mine")
	b.Call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "America/Lima"}, nil)
	b.Visit(s.url + job)
	b.Until(`document.body.dataset.zone === 'America/Lima'`) // who has travelled
	b.Emulate("light", 360)
	b.Layout()
	b.Click(".zones summary")
	picture(b, "times-phone")
	b.Layout()
}

// A log shows its times where the rest of its page does.
func TestLogTimesAreInTheZoneOfThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, j, _ := s.report()
	first := must(s.Logs(t.Context(), "default", j.ID, job.LogFilter{}))(s).Items[0].At
	v := s.visitor(s.admin)
	page := fmt.Sprint("/jobs/", j.ID)
	for _, row := range []struct{ how, zone string }{{"schedule", "UTC"}, {"mine", "Asia/Kathmandu"}, {"utc", "UTC"}} {
		_, body := v.post("/times", "times", row.how, "zone", row.zone, "next", page)
		line := `<span class="at">` + first.In(must(time.LoadLocation(row.zone))(s)).Format("15:04:05.000") + " log</span>"
		if !strings.Contains(body, `Times <span class="zone">`+row.zone+`</span>`) || !strings.Contains(body, line) {
			t.Errorf("%s: the page has neither the zone %s nor %s", row.how, row.zone, line)
		}
		if _, part := v.get(page + "/log"); !strings.Contains(part, line) {
			t.Errorf("%s: %s does not have %s", row.how, part, line)
		}
	}
}

// How long a job has run grows while its page is looked at, with no change that tells of it.
func TestLengthOfARunningJobGrows(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, j, _ := s.report()
	b := s.at(fmt.Sprint("/jobs/", j.ID))
	b.Until(`document.documentElement.classList.contains('scripted')`)
	b.Eval(`(() => { const now = Date.now; Date.now = () => now() + 411000; return true; })()`, new(bool))
	b.Until(`/^\d+ min( \d+ s)?$/.test(document.querySelector('.legend b[data-lasts]').textContent)`)
	b.Until(`/^\d+ min( \d+ s)? so far$/.test(document.querySelector('.points [data-lasts]').textContent)`)
}

// Relative times count by the clock of the server. That of the reader's machine is two hours behind.
func TestRelativeTimesFollowTheClockOfTheServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, j, _ := s.report()
	b := s.at("/tasks")
	b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `(now => { Date.now = () => now() - 7200000; })(Date.now)`}, nil)
	b.Visit(s.url + fmt.Sprint("/jobs/", j.ID))
	b.Until(`document.documentElement.classList.contains('scripted')`)
	settled(b)
	b.Until(`document.querySelector('main time[data-rel]').title === ''`) // the script has taken over
	var texts []string
	b.Eval(`[...document.querySelectorAll('main time[data-rel]')].map(e => e.textContent)`, &texts)
	for _, text := range texts {
		if text != "now" && !strings.HasSuffix(text, " s ago") {
			t.Errorf("a time of some seconds ago is shown as %q", text)
		}
	}
}

// What a cookie or a form says of a zone is a name of one, or nothing.
func TestTimesOfAnOddZone(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	for _, zone := range []string{"", "Local", "../../etc/passwd", "Mars/Olympus", strings.Repeat("x", 300), "<b>"} {
		if status, body := v.post("/times", "times", "mine", "zone", zone, "next", "/schedules/hourly"); status != 200 || !strings.Contains(body, `data-times="schedule"`) {
			t.Errorf("%q: %d", zone, status)
		}
	}
	if status, body := v.post("/times", "times", "mine", "zone", "Europe/Sofia", "next", "https://elsewhere.example/"); status != 200 || !strings.Contains(body, `data-times="mine" data-zone="Europe/Sofia"`) {
		t.Errorf("%d", status)
	}
}

// Lengths of time are written alike by the server and by the script.
func TestRelativeTimesAreWrittenAlike(t *testing.T) {
	t.Parallel()
	s, now := newSite(t), time.Now()
	b := s.at("/tasks")
	b.Until(`document.documentElement.classList.contains('scripted')`)
	b.Eval(`(() => { const now = Date.now(); Date.now = () => now; return true; })()`, new(bool)) // a second may pass before it is looked at
	for _, row := range []struct {
		ago  time.Duration
		want string
	}{
		{45 * time.Second, "45 s ago"}, {118 * time.Second, "1 min ago"}, {111 * time.Minute, "1 h 51 min ago"}, {13*time.Hour + 5*time.Minute, "13 h ago"},
		{27 * time.Hour, "1 d 3 h ago"}, {24*time.Hour + time.Minute, "1 d ago"}, {50 * time.Hour, "2 d ago"},
	} {
		var got string
		b.Eval(fmt.Sprintf(`(() => { const e = document.createElement('time'); e.dateTime = new Date(Date.now() - %d).toISOString(); e.dataset.rel = ''; e.id = 'probe'; document.querySelector('main').append(e);
			return new Promise(done => { const look = () => { if (e.textContent) { e.remove(); done(e.textContent); } else setTimeout(look, 20); }; look(); }); })()`, row.ago.Milliseconds()), &got)
		if want := parts.NewMoment(now.Add(-row.ago), now, time.UTC, true).Rel(); got != row.want || want != row.want {
			t.Errorf("%s: %q by the script, %q by the server, want %q", row.ago, got, want, row.want)
		}
	}
}

// The forecast begins in the zone in which the reader sees times, and has one zone: that of its form.
func TestTheForecastHasOneZone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateTask(t.Context(), task.Task{Name: "hello", Kind: task.KindFunc}))(s)
	for _, name := range []string{"a", "b"} {
		must(s.CreateSchedule(t.Context(), schedule.Schedule{Name: name, Task: "hello", Rules: []schedule.Rule{{Cron: "0 12 * * *"}}}))(s)
	}
	v := s.visitor(s.admin)
	v.post("/times", "times", "mine", "zone", "Asia/Tokyo", "next", "/")
	for asked, want := range map[string][2]string{"": {"Asia/Tokyo", "21:00"}, "?zone=Asia/Kolkata": {"Asia/Kolkata", "17:30"}, "?zone=UTC": {"UTC", "12:00"}} {
		_, body := v.get("/forecast" + asked)
		_, busiest, _ := strings.Cut(body, `id="minutes"`)
		if !strings.Contains(body, "Hours are those of "+want[0]) || !strings.Contains(busiest, want[1]+` <span class="zone">`+want[0]) || strings.Count(busiest, "<tr data-key") != 1 {
			t.Errorf("%s: %s", asked, busiest)
		}
	}
}
