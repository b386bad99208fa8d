package console_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func TestMonitorIsPausedResumedCheckedAndDeleted(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors/api")
	opens(b, "pause")
	b.Type("#f-for", "2h")
	b.Type("#f-reason", "we <b>paint</b> it")
	picture(b, "monitor-pause")
	b.Axe()
	s.sends(b, "#pause button.main", "Monitor api is paused", "we <b>paint</b> it", "until", "Resume")
	v := must(s.Monitor(t.Context(), "default", "api"))(s)
	if v.Status != monitor.StatusPaused || v.State.PausedUntil.IsZero() {
		t.Errorf("%+v", v.State)
	}
	b.Follow("form[action$='/resume'] button")
	b.Shows("Monitor api is resumed", "Check now")
	s.sends(b, "form[action$='/check'] button", "Monitor api is being checked, as job")
	opens(b, "delete")
	b.Shows("Delete monitor api?", "Its incidents are kept")
	b.Follow("#delete button.danger")
	b.Quiet(s.url, http.StatusNotFound) // the page may look once more at what it was about
	b.Shows("Monitor api is deleted")
	if _, err := s.Monitor(t.Context(), "default", "api"); core.CodeOf(err) != core.NotFound {
		t.Errorf("it is there: %v", err)
	}
	if status, body := s.visitor(s.admin).post("/monitors/shop/pause", "for", "tomorrow"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "length of time") {
		t.Errorf("%d %s", status, body)
	}
}

func TestAnIncidentIsAcknowledgedAndWrittenAbout(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	all := must(s.Incidents(t.Context(), view.IncidentFilter{Namespace: "default", Open: true}))(s).Items
	path := fmt.Sprint("/incidents/", all[0].ID)
	b := s.at(path)
	opens(b, "acknowledge")
	b.Type("#f-note", "I <b>restart</b> it")
	b.Axe()
	s.sends(b, "#acknowledge button.main", "is acknowledged.", "I <b>restart</b> it", "Take back")
	b.Type("#f-text", "the disk\nis <i>full</i>")
	b.Click("#f-public")
	picture(b, "incident-update")
	b.Axe()
	s.sends(b, "#update button.main", "Update 1 is written.", "is <i>full</i>", "First failure")
	i := must(s.Incident(t.Context(), "default", all[0].ID))(s)
	if i.Acknowledged == nil || i.Acknowledged.Note != "I <b>restart</b> it" || len(i.Updates) != 1 || !i.Updates[0].Public || i.Updates[0].Text != "the disk\nis <i>full</i>" {
		t.Errorf("%+v %+v", i.Acknowledged, i.Updates)
	}
	v := s.visitor(s.admin)
	for _, at := range []string{"/incidents", "/"} {
		if _, body := v.get(at); !strings.Contains(strings.ToLower(body), "acknowledged by "+i.Acknowledged.By) {
			t.Errorf("%s does not say who looks after it", at)
		}
	}
	opens(b, "assign")
	b.Type("#f-to", "Ann <b>Lee</b>")
	picture(b, "incident-assign")
	b.Axe()
	s.sends(b, "#assign button.main", "is assigned to Ann <b>Lee</b>.", "Unassign")
	if _, body := v.get("/incidents?assigned=" + url.QueryEscape("Ann <b>Lee</b>")); !strings.Contains(body, path+`"`) || !strings.Contains(body, "assigned to Ann &lt;b&gt;Lee") {
		t.Error("it is not found by its person")
	}
	if _, body := v.get("/incidents?assigned=bob"); strings.Contains(body, path+`"`) {
		t.Error("it is found by another person")
	}
	b.Follow("form[action$='/unassign'] button")
	b.Shows("is assigned to no one.")
	long := strings.Repeat("x", monitor.MaxUpdateText+1)
	if status, body := v.post(path+"/update", "text", long, "state", "identified"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "4000 characters") || !strings.Contains(body, long) {
		t.Errorf("%d", status)
	}
	if status, _ := v.post("/incidents/4711/update", "text", "x"); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
	b.Follow("form[action$='/unacknowledge'] button")
	b.Shows("is not acknowledged.", "Acknowledge")
}

func TestManyMonitorsAtOnce(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors")
	b.Click("input[value='default/api']")
	b.Click("input[value='default/shop']")
	s.sends(b, "#list button[value=pause]", "Pause 2 monitors?", "api", "shop")
	b.Type("#f-reason", "both at once")
	s.sends(b, "main form button.main", "2 monitors are paused.", "Paused 3")
	if v := must(s.Monitor(t.Context(), "default", "shop"))(s); v.State.PausedReason != "both at once" {
		t.Errorf("%+v", v.State)
	}
	// All that a filter finds, and what cannot be done to some.
	b.Visit(s.url + "/monitors?status=paused")
	b.Follow("form.actions button[value=resume]")
	b.Shows("Resume 3 monitors?")
	b.Follow("main form button.main")
	b.Shows("3 monitors are resumed.")
	v := s.visitor(s.admin)
	if _, body := v.post("/monitors/-bulk", "do", "check", "m", "default/backup"); !strings.Contains(body, "Not all of them") || !strings.Contains(body, "/monitors/backup") {
		t.Error(body)
	}
	if status, body := v.get("/monitors/-bulk?do=pause"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "no monitor was selected") {
		t.Errorf("%d %s", status, body)
	}
	reader, _ := s.token("viewer", "default", access.ScopeRead)
	if status, _ := s.visitor(reader).get("/monitors/-bulk?do=pause&m=default/api"); status != http.StatusForbidden {
		t.Errorf("a reader gets %d", status)
	}
}

// What is found, and in which form, stands in the address.
func TestMonitorsAreFiltered(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors?view=grid")
	b.Key("/")
	b.Until(`document.activeElement.id === 'search'`)
	b.Type("#search", "SH")
	b.Follow(".filters button")
	b.Quiet(s.url)
	var names []string
	b.Eval(`[...document.querySelectorAll('.grid .first a')].map(a => a.textContent)`, &names)
	if fmt.Sprint(names) != "[shop]" {
		t.Errorf("%v", names)
	}
	var at string
	if b.Eval(`location.search`, &at); !strings.Contains(at, "search=SH") || !strings.Contains(at, "view=grid") {
		t.Errorf("the address is %s", at)
	}
	for query, found := range map[string]string{"status=down": "shop", "kind=page": "prices", "tag=core": "api", "status=paused&kind=tcp": "old"} {
		_, body := s.visitor(s.admin).get("/monitors?" + query)
		if n := strings.Count(body, `<tr id="monitor-`); n != 1 || !strings.Contains(body, `<tr id="monitor-default-`+found) {
			t.Errorf("%s: %d rows", query, n)
		}
	}
}

// A check that ends shows up by itself.
func TestMonitorPageIsLive(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors/api/results")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	s.check("api", task.CheckResult{Outcome: task.CheckFail, Code: task.CodeTimeout, Message: "no answer within a blink"})
	b.Until(`document.body.innerText.includes('no answer within a blink')`)
	b.Until(`document.querySelector('h1').innerText.includes('down')`)
	b.Quiet(s.url)
}

func TestVersionIsAccepted(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors/prices/versions")
	b.Follow("#version-3 td[data-th=Changes] a")
	b.Shows("From version 2 to 3")
	var marked []string
	b.Eval(`[...document.querySelectorAll('.page-diff ins, .page-diff del')].map(e => e.textContent)`, &marked)
	if fmt.Sprint(marked) != "[10 11]" {
		t.Errorf("marked are %q", marked)
	}
	opens(b, "accept-3")
	b.Shows("Accept version 3?")
	s.sends(b, "#accept-3 button.main", "Version 3 of prices is the baseline now.", "by token:")
	if v := must(s.PageVersion(t.Context(), "default", "prices", -1))(s); v.Seq != 3 {
		t.Errorf("the baseline is %d", v.Seq)
	}
	if status, _ := s.visitor(s.admin).get("/monitors/prices/versions/last"); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
}

func TestMonitorIsMadeAndEdited(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/monitors/-new")
	b.Type("#f-name", "site")
	b.Type("#f-check-http-url", "ftp://example.com")
	b.Type("#f-check-conditions", "status == 200")
	s.refused(b, "button[value=save]", http.StatusUnprocessableEntity, "is neither http nor https")
	b.Axe()
	picture(b, "monitor-new-fault")
	put(b, "#f-check-http-url", "https://example.com/x")
	b.Click("details.drawer summary")
	b.Type("#f-check-http-auth-bearer", "t0p")
	s.sends(b, "button[value=save]", "Created monitor site")
	v := must(s.Monitor(t.Context(), "default", "site"))(s)
	if n := must(s.Jobs(t.Context(), job.Filter{Task: "monitor:site"}))(s); len(n.Items) != 1 || n.Items[0].State != job.Ready {
		t.Errorf("its first check waits: %+v", n.Items)
	}
	if v.Check.HTTP.URL != "https://example.com/x" || len(v.Check.Conditions) != 1 || v.Every.D() != time.Minute {
		t.Errorf("%+v", v.Monitor)
	}

	b.Visit(s.url + "/monitors/site/edit")
	put(b, "#f-every", "30s")
	put(b, "#f-tags", "a, b")
	s.sends(b, "button[value=save]", "Monitor site is saved", "every 30 s", "a bearer token that is kept secret")
	kept, err := s.node.Store().CheckOf(t.Context(), "default", "site")
	if err != nil || kept.HTTP.Auth.Bearer != "t0p" {
		t.Errorf("the secret is %q, %v", string(kept.HTTP.Auth.Bearer), err)
	}
	if again := must(s.Monitor(t.Context(), "default", "site"))(s); again.Every.D() != 30*time.Second || fmt.Sprint(again.Tags) != "[a b]" || again.Check.Conditions[0] != "status == 200" {
		t.Errorf("%+v", again.Monitor)
	}
	var page string
	if b.Eval(`document.documentElement.outerHTML`, &page); strings.Contains(page, "t0p") {
		t.Error("a secret is shown")
	}
	reader, _ := s.token("viewer", "default", access.ScopeRead)
	if _, body := s.visitor(reader).get("/monitors/-new"); strings.Contains(body, "Create monitor") || !strings.Contains(body, "scope admin") {
		t.Error("a reader is offered a form")
	}
}

// Every kind can be made with what its form asks for, and edited without a
// change coming of it.
func TestEveryKindOfMonitorHasAForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	for kind, fields := range map[string][]string{
		"http":      {"check.http.url", "https://example.com/", "check.http.headers", "Accept: text/html\nX-A: b: c", "check.http.expect_status", "200, 404", "check.http.max_redirects", "-1"},
		"tcp":       {"check.tcp.address", "db.example:5432", "check.tcp.expect", "^SSH", "confirm.failures", "3"},
		"dns":       {"check.dns.name", "example.com", "check.dns.type", "MX", "check.dns.expect", "10 mail.example.com.\n20 mx.example.com.", "check.dns.exact", "true"},
		"tls":       {"check.tls.address", "example.com:443", "check.tls.warn_days", "30"},
		"ping":      {"check.ping.host", "example.com", "check.ping.count", "5"},
		"grpc":      {"check.grpc.address", "api.example:443"},
		"websocket": {"check.websocket.url", "wss://example.com/"},
		"udp":       {"check.udp.address", "game.example:27015", "check.udp.send_hex", "ff 54", "check.udp.expect", "x"},
		"domain":    {"check.domain.name", "example.com", "check.domain.warn_days", "30"},
		"heartbeat": {"heartbeat.grace", "10m", "every", "", "rules", "0 3 * * *", "zone", "Europe/Sofia"},
		"page":      {"check.page.url", "https://example.com/", "check.page.css", "main", "check.page.mask", "numbers", "check.page.ignore", "a+\nb+", "check.page.baseline", "pinned"},
		"command":   {"check.command.shell", "exit 0", "check.command.env", "A: b"},
	} {
		t.Run(kind, func(t *testing.T) {
			status, body := v.post("/monitors/-new?kind="+kind, append([]string{"do", "save", "name", "a-" + kind, "every", "5m"}, fields...)...)
			if status != http.StatusOK || !strings.Contains(body, "Created monitor") {
				t.Fatalf("%d %s", status, body)
			}
			made, err := s.Monitor(context.Background(), "default", "a-"+kind)
			if err != nil || string(made.Kind()) != kind {
				t.Fatalf("%+v %v", made, err)
			}
			_, edit := v.get("/monitors/a-" + kind + "/edit")
			form := append(formOf(t, edit), "do", "save")
			if status, body := v.post("/monitors/a-"+kind+"/edit", form...); status != http.StatusOK || !strings.Contains(body, "is saved") {
				t.Fatalf("%d %s", status, body)
			}
			again, err := s.Monitor(context.Background(), "default", "a-"+kind)
			if again.Generation != made.Generation || err != nil {
				t.Errorf("made %+v\nsaved again %+v %v", made.Monitor, again.Monitor, err)
			}
		})
	}
}

func TestAFormBeginsWithTheIntervalOfItsKind(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	for kind, every := range map[string]string{"http": "1m", "domain": "1d", "heartbeat": "1h"} {
		_, body := v.get("/monitors/-new?kind=" + kind)
		if form := formAt(t, body, "/monitors/-new?kind="+kind); !slices.Contains(form, "every") || form[slices.Index(form, "every")+1] != every {
			t.Errorf("%s: %q, want every %s", kind, form, every)
		}
	}
}

func TestCheckIsTriedBeforeItIsSaved(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<main><p class="price">12 EUR</p><p class="price">14 EUR</p></main>`)
	}))
	t.Cleanup(target.Close)
	s := newSite(t, func(c *config.Config) {
		c.Roles = []string{config.RoleAPI, config.RoleWorker}
		c.AllowAddresses = []string{"loopback"}
	})
	b := s.at("/monitors/-new")
	b.Type("#f-name", "site")
	b.Type("#f-check-http-url", target.URL)
	b.Type("#f-check-conditions", "status == 204\nbody contains \"EUR\"")
	s.sends(b, "button[value=try]", "Failed, status 200", "status == 204", `body contains "EUR"`, "condition status == 204 does not hold (status = 200)", "Nothing is stored")
	picture(b, "monitor-tried")
	b.Axe()
	if name := value(b, "#f-name"); name != "site" {
		t.Errorf("the form says %q", name)
	}
	b.Visit(s.url + "/monitors/-new?kind=page")
	b.Type("#f-check-page-url", target.URL)
	b.Type("#f-check-page-css", ".price")
	b.Type("#f-name", "prices")
	s.sends(b, "button[value=try]", "2 elements are found.", "The first of them", "12 EUR", "Compared text")
	picture(b, "monitor-tried-page")
	b.Visit(s.url + "/monitors/-new")
	b.Until(draftNote)
	put(b, "#f-check-conditions", "status ==")
	b.Follow("button[value=try]")
	b.Quiet(s.url, http.StatusUnprocessableEntity)
	var wrong int
	if b.Eval(`document.querySelectorAll('.field.wrong #f-check-conditions').length`, &wrong); wrong != 1 {
		b.Shows("beside the conditions, what is wrong with them")
	}
}

// However many are down, each is shown somewhere.
func TestIncidentsArePagedThrough(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	const all = 55 // more than a page
	for i := range all {
		name := fmt.Sprintf("m%02d", i)
		must(s.CreateMonitor(ctx, monitor.Monitor{Name: name, Confirm: monitor.Confirm{Failures: 1}, Recover: monitor.Recover{Passes: 1}, Check: task.Task{TCP: &task.TCP{Address: name + ".example:22"}}}))(s)
	}
	turn := func(m task.CheckResult) {
		w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "prober", Kinds: []task.Kind{task.KindTCP}, Queues: map[string]int{task.ChecksQueue: all}}))(s)
		for i := range all {
			must(s.CheckMonitor(ctx, "default", fmt.Sprintf("m%02d", i)))(s)
		}
		var fs []job.Finish
		c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{task.ChecksQueue: all}}))(s)
		for _, j := range c.Jobs {
			fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: c.Lease}, Outcome: job.OutcomeOK, Check: &m})
		}
		must(s.Finish(ctx, w.ID, fs))(s)
	}
	pages := func(path string) (n int) {
		v := s.visitor(s.admin)
		for seen := 0; path != "" && seen < 5; seen++ {
			_, body := v.get(path)
			n += strings.Count(body, `<tr id="incident-`)
			path = ""
			if at := strings.Index(body, `" rel="next"`); at > 0 {
				path = html.UnescapeString(body[strings.LastIndex(body[:at], `"`)+1 : at])
			}
		}
		return n
	}
	turn(task.CheckResult{Outcome: task.CheckFail, Code: task.CodeConnectRefused, Message: "nothing listens there"})
	if n := pages("/incidents"); n != all {
		t.Errorf("%d incidents are open", n)
	}
	turn(task.CheckResult{Outcome: task.CheckOK})
	for _, path := range []string{"/incidents", "/incidents?state=over"} {
		if n := pages(path); n != all {
			t.Errorf("%s shows %d incidents that are over", path, n)
		}
	}
	if n := pages("/incidents?state=open"); n != 0 {
		t.Errorf("%d incidents are open still", n)
	}
}

// A check is a job, of a task and a schedule that have no pages of their own.
func TestObjectsOfAMonitorLinkToIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"api", "web"} { // which meet in each minute
		must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: name, Every: core.Duration(time.Minute), Check: task.Task{TCP: &task.TCP{Address: "db.example:22"}}}))(s)
	}
	check := must(s.CheckMonitor(t.Context(), "default", "api"))(s)
	v := s.visitor(s.admin)
	for path, says := range map[string]string{
		"/jobs/" + numberText(check.ID):     `href="/monitors/api"`,
		"/forecast?checks=true":             `href="/monitors/api"`,
		"/forecast?checks=true&namespace=*": `monitor api`,
		"/forecast":                         `Nothing is planned to start within a week.`,
		"/?checks=true":                     `Leave checks out</a>`,
		"/":                                 `href="/?checks=true">Show checks too</a>`,
	} {
		status, body := v.get(path)
		if status != 200 || !strings.Contains(body, says) {
			t.Errorf("%s: %d, without %s", path, status, says)
		}
		if strings.Contains(body, "/monitors/api?namespace=%2A") {
			t.Errorf("%s leads to a monitor of all namespaces, which there is not", path)
		}
	}
}

// The page of a monitor leads to a maintenance window of tonight for it alone.
func TestAMonitorIsSilencedTonightFromItsPage(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	_, page := v.get("/monitors/shop")
	link := regexp.MustCompile(`href="([^"]+)">Silence tonight`).FindStringSubmatch(page)
	if link == nil {
		t.Fatal("the page has no link to a window of tonight")
	}
	_, form := v.get(html.UnescapeString(link[1]))
	name := regexp.MustCompile(`value="(shop-tonight-[0-9-]+)"`).FindStringSubmatch(form)
	if name == nil {
		t.Fatalf("the form has no name: %s", form)
	}
	if status, body := v.sendPlain(form, "/settings/windows/-new", "do", "save"); status != http.StatusOK || !strings.Contains(body, "is saved") {
		t.Fatalf("%d %s", status, body)
	}
	if w := must(s.Window(t.Context(), "default", name[1]))(s); !slices.Equal(w.Monitors, []string{"shop"}) {
		t.Errorf("the window is for %q", w.Monitors)
	}
}
