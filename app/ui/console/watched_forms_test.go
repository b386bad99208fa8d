package console_test

import (
	"bytes"
	"encoding/base64"
	"image"
	pngs "image/png"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/monitor"
)

// formOf is what a browser would send of the last form that edits something on
// a page that has not been touched.
func formOf(t *testing.T, page string) (pairs []string) {
	t.Helper()
	return formAt(t, page, "/edit", "/settings/channels/team")
}

// formAt is that of the last form whose action ends like this.
func formAt(t *testing.T, page string, actions ...string) (pairs []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(n *html.Node, in bool)
	walk = func(n *html.Node, in bool) {
		name, kind := attr(n, "name"), attr(n, "type")
		switch {
		case n.Type == html.ElementNode && n.Data == "form":
			if in = slices.ContainsFunc(actions, func(a string) bool { return strings.HasSuffix(attr(n, "action"), a) }); in {
				pairs = nil
			}
		case in && n.Data == "input" && (kind != "checkbox" || has(n, "checked")):
			pairs = append(pairs, name, attr(n, "value"))
		case in && n.Data == "textarea" && n.FirstChild != nil:
			pairs = append(pairs, name, n.FirstChild.Data)
		case in && n.Data == "option" && has(n, "selected"):
			text := attr(n, "value")
			if n.FirstChild != nil && !has(n, "value") {
				text = n.FirstChild.Data
			}
			pairs = append(pairs, attr(n.Parent, "name"), text)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, in)
		}
	}
	walk(root, false)
	return pairs
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func TestStatusPageIsMadeEditedAndDeleted(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/status-pages/-new")
	b.Type("#f-name", "shop")
	b.Type("#f-title", "The shop")
	b.Type("#f-sections-0-title", "Front")
	b.Type("#f-sections-0-monitors", "shop, api")
	b.Type("#f-sections-0-titles-name-1", "shp")
	b.Type("#f-sections-0-titles-value-1", "Our shop")
	s.refused(b, "button[value=save]", http.StatusUnprocessableEntity, "is not a monitor of the section")
	put(b, "#f-sections-0-titles-name-1", "shop")
	s.sends(b, "button[value=try]", "Section 2")
	b.Type("#f-sections-1-title", "Back")
	b.Type("#f-sections-1-tags", "core")
	s.sends(b, "button[value=save]", "Status page shop is saved", "View public page", "Section 3")
	page := must(s.StatusPage(t.Context(), "default", "shop"))(s)
	if len(page.Sections) != 2 || strings.Join(page.Sections[0].Monitors, " ") != "shop api" || page.Sections[1].Tags[0] != "core" {
		t.Errorf("%+v", page)
	}
	if status, body := s.visitor("").get("/status/shop"); status != http.StatusOK || !strings.Contains(body, "The shop") || !strings.Contains(body, "Our shop") {
		t.Errorf("everyone sees %d", status)
	}
	looksOwn(s, b)
	b.Click("#f-off")
	b.Follow("button[value=save]")
	b.Shows("Disabled: the page is not public.")
	for _, way := range []string{"try", "yaml", "form"} { // the same page, another way to edit it
		b.Follow("button[value=" + way + "]")
		b.Shows("Disabled: the page is not public.")
		if text := b.Text("main"); strings.Contains(text, "View public page") || strings.Contains(text, "Badge") {
			t.Errorf("%s shows a disabled page as public: %s", way, text)
		}
	}
	if status, body := s.visitor(s.admin).post("/status-pages/-new", "do", "save", "name", "titled", "sections[0].title", "", "sections[0].titles", "api: Our shop"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "name what the section shows") || !strings.Contains(body, "Our shop") {
		t.Errorf("a section of titles only: %d %s", status, body)
	}
	if status, body := s.visitor(s.admin).post("/status-pages/-new", "do", "save", "name", "shop", "sections[0].title", ""); status != http.StatusConflict || !strings.Contains(body, "is taken") {
		t.Errorf("a taken name: %d", status)
	}
	opens(b, "delete")
	s.sends(b, "#delete button.danger", "Status page shop is deleted")
}

// choose puts a file into an input.
func choose(b *browser.Tab, selector, name string, content []byte) {
	b.T.Helper()
	b.Eval(`(() => {
		const all = new DataTransfer();
		all.items.add(new File([Uint8Array.from(atob(`+strconv.Quote(base64.StdEncoding.EncodeToString(content))+`), c => c.charCodeAt(0))], `+strconv.Quote(name)+`));
		document.querySelector(`+strconv.Quote(selector)+`).files = all.files;
		return true;
	})()`, new(bool))
}

// looksOwn gives the status page shop a logo and an accent, and takes the logo away again.
func looksOwn(s *site, b *browser.Tab) {
	s.Helper()
	var png bytes.Buffer
	if err := pngs.Encode(&png, image.NewGray(image.Rect(0, 0, 90, 30))); err != nil {
		s.Fatal(err)
	}
	put(b, "#f-accent", "#fc0")
	choose(b, "#f-logo", "logo.svg", []byte("<svg onload='alert(1)'/>"))
	s.refused(b, "button[value=save]", http.StatusUnprocessableEntity, "is an SVG", "the nearest colour that has it is #")
	picture(b, "status-page-refused")
	put(b, "#f-accent", "#8A1C6B")
	choose(b, "#f-logo", "logo.png", png.Bytes())
	s.sends(b, "button[value=try]", "An image is chosen, and not saved yet.")
	s.sends(b, "button[value=save]", "Status page shop is saved")
	var wide int
	b.Eval(`document.querySelector('img.uploaded').naturalWidth`, &wide)
	page := must(s.StatusPage(s.Context(), "default", "shop"))(s)
	if logo, err := page.Image(); err != nil || !bytes.Equal(logo.Bytes, png.Bytes()) || page.Accent != "#8a1c6b" || wide != 90 {
		s.Errorf("%+v, %v, shown with %d pixels", page, err, wide)
	}
	b.Layout()
	b.Axe()
	picture(b, "status-page-look")
	put(b, "#f-description", "with a logo")
	s.sends(b, "button[value=save]", "Status page shop is saved")
	if after := must(s.StatusPage(s.Context(), "default", "shop"))(s); after.Logo != page.Logo || after.Description != "with a logo" {
		s.Errorf("the logo is not kept: %+v", after)
	}
	b.Click("[name=logo-remove]")
	s.sends(b, "button[value=save]", "Status page shop is saved")
	if after := must(s.StatusPage(s.Context(), "default", "shop"))(s); after.Logo != "" {
		s.Error("the logo is not removed")
	}
	if status, _ := s.visitor(s.admin).get("/status-pages/shop/logo"); status != http.StatusNotFound {
		s.Errorf("a logo that is not there: %d", status)
	}
}

// A window that is saved as it is shown holds as before, to the second.
func TestWindowKeepsItsSeconds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	from := time.Date(2199, 12, 24, 20, 0, 30, 0, time.UTC)
	must(s.SaveWindow(t.Context(), monitor.Window{Name: "move", From: from, To: from.Add(time.Hour), Zone: "Europe/Sofia"}))(s)
	v.post("/settings/windows/move", "do", "save", "when", "once", "description", "Moving house", "from", "2199-12-24T22:00", "to", "2199-12-24T23:00", "zone", "Europe/Sofia")
	if w := must(s.Window(t.Context(), "default", "move"))(s); w.Description != "Moving house" || !w.From.Equal(from) || !w.To.Equal(from.Add(time.Hour)) {
		t.Errorf("%+v", w)
	}
	// What was written for another zone is read there.
	v.post("/settings/windows/move", "do", "save", "when", "once", "from", "2199-12-24T22:00", "to", "2199-12-24T23:00", "zone", "UTC")
	if w := must(s.Window(t.Context(), "default", "move"))(s); !w.From.Equal(from.Truncate(time.Minute).Add(2 * time.Hour)) {
		t.Errorf("%+v", w)
	}
	if status, _ := v.post("/settings/windows/gone", "do", "save", "when", "once", "from", "2199-12-24T22:00", "to", "2199-12-24T23:00"); status != http.StatusNotFound {
		t.Errorf("one that is gone answered %d", status)
	}
}

func TestChannelIsMadeTestedAndKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	said := make(chan string, 10)
	status := http.StatusInternalServerError
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said <- r.Header.Get("X-Key")
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	s := newSite(t, func(c *config.Config) {
		c.Roles = []string{config.RoleAPI, config.RoleEngine}
		c.AllowAddresses = []string{"loopback"}
	})
	b := s.at("/settings/channels/-new?kind=webhook")
	b.Type("#f-name", "team")
	b.Type("#f-webhook-url", receiver.URL+"/s3cret")
	b.Type("#f-webhook-headers-name-1", "X-Key")
	b.Type("#f-webhook-headers-value-1", "k3y")
	s.sends(b, "button[value=save]", "Channel team is saved", "Send a test")
	s.sends(b, "form[action$='/test'] button")
	says(b, ".flash.bad", "The test was not taken")
	if key := <-said; key != "k3y" {
		t.Errorf("it was called with %q", key)
	}
	// Saved again as it is shown, it still knows where to go.
	status = http.StatusOK
	v := s.visitor(s.admin)
	_, page := v.get("/settings/channels/team")
	for _, secret := range []string{"s3cret", "k3y"} {
		if strings.Contains(page, secret) {
			t.Errorf("the page shows %s", secret)
		}
	}
	if code, body := v.post("/settings/channels/team", append(formOf(t, page), "do", "save")...); code != http.StatusOK || !strings.Contains(body, "is saved") {
		t.Fatalf("%d %s", code, body)
	}
	b.Follow("form[action$='/test'] button")
	b.Shows("The test was taken")
	if key := <-said; key != "k3y" {
		t.Errorf("it was called with %q", key)
	}
	b.Visit(s.url + "/settings/channels/-new?kind=email")
	b.Type("#f-name", "mail")
	b.Type("#f-email-host", "smtp.example.com")
	b.Type("#f-email-from", "nobody")
	b.Type("#f-email-to", "ops@example.com")
	b.Follow("button[value=save]")
	b.Quiet(s.url, http.StatusUnprocessableEntity)
	var wrong int
	if b.Eval(`document.querySelectorAll('.field.wrong #f-email-from').length`, &wrong); wrong != 1 {
		t.Error("the wrong field is not marked")
	}
	b.Visit(s.url + "/settings/channels/team")
	opens(b, "delete")
	b.Follow("#delete button.danger")
	b.Shows("Channel team is deleted")
}

func TestWindowOfMaintenance(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/settings/windows/-new")
	b.Type("#f-name", "backup")
	put(b, "#f-when", "weekly")
	put(b, "#f-zone", "Europe/Sofia")
	b.Click("input[value=Sunday]")
	b.Type("#f-at", "02:30")
	s.refused(b, "button[value=try]", http.StatusUnprocessableEntity, "how long does it last")
	b.Type("#f-lasts", "2h")
	s.sends(b, "button[value=try]", "Active times", "02:30 Europe/Sofia")
	picture(b, "window-tried")
	s.sends(b, "button[value=save]", "Window backup is saved")
	if w := must(s.Window(t.Context(), "default", "backup"))(s); len(w.Rules) != 1 || w.Rules[0].Cron != "30 2 * * SUN" || w.Zone != "Europe/Sofia" || w.Lasts.D() != 2*time.Hour {
		t.Errorf("%+v", w)
	}
	if checked := value(b, "#f-when"); checked != "weekly" {
		t.Errorf("it is shown as %s", checked)
	}
	v := s.visitor(s.admin)
	from := time.Now().AddDate(0, 0, 3).UTC().Truncate(time.Minute)
	if code, body := v.post("/settings/windows/-new", "do", "save", "name", "move", "when", "once", "zone", "UTC", "from", from.Format("2006-01-02T15:04"), "to", from.Add(time.Hour).Format("2006-01-02T15:04"), "lasts", "5h"); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if w := must(s.Window(t.Context(), "default", "move"))(s); !w.From.Equal(from) || w.To.Sub(w.From) != time.Hour || w.Lasts != 0 {
		t.Errorf("%+v", w)
	}
	if code, body := v.post("/settings/windows/-new", "do", "save", "name", "rules", "when", "rules", "rules", "0 22 1 * *\nFREQ=MONTHLY;BYDAY=-1FR;BYHOUR=3;BYMINUTE=0;BYSECOND=0", "lasts", "1h"); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := v.post("/settings/windows/-new", "do", "save", "name", "x", "when", "weekly", "at", "25:00", "lasts", "1h"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "not a time of day") {
		t.Errorf("%d %s", code, body)
	}
	b.Visit(s.url + "/settings/windows/backup")
	opens(b, "delete")
	b.Follow("#delete button.danger")
	b.Shows("Window backup is deleted", "move")
}

func TestAlertRuleIsMadeAndEdited(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/alert-rules/-new")
	b.Type("#f-name", "night")
	b.Click("input[value=reminder]")
	b.Type("#f-tags", "core")
	s.refused(b, "button[value=save]", http.StatusUnprocessableEntity, "name at least one channel", "needs remind")
	b.Click("input[name=channels][value=team]")
	b.Type("#f-remind", "1h")
	s.sends(b, "button[value=save]", "Alert rule night is saved", "everything tagged core", "after 1 h, at most 10")
	a := must(s.AlertRule(t.Context(), "default", "night"))(s)
	if a.Channels[0] != "team" || len(a.On) != len(alert.DefaultNotifications)+1 {
		t.Errorf("%+v", a)
	}
	b.Visit(s.url + "/alert-rules/night")
	b.Click("#f-off")
	b.Follow("button[value=save]")
	if a := must(s.AlertRule(t.Context(), "default", "night"))(s); !a.Off || a.Remind.D() != time.Hour {
		t.Errorf("%+v", a)
	}
	v := s.visitor(s.admin)
	_, body := v.get("/alert-rules/night")
	var noEvent []string
	for form := formAt(t, body, "/alert-rules/night"); len(form) > 0; form = form[2:] {
		if form[0] != "on" {
			noEvent = append(noEvent, form[:2]...)
		}
	}
	for _, path := range []string{"/alert-rules/night", "/alert-rules/-new"} {
		status, body := v.post(path, append(noEvent, "name", "mute", "do", "save")...)
		if status != http.StatusUnprocessableEntity || strings.Count(body, "must have an event: tick at least one, such as Down") != 1 {
			t.Errorf("%s without an event: %d %s", path, status, body)
		}
	}
	b.Visit(s.url + "/alert-rules/night")
	opens(b, "delete")
	s.sends(b, "#delete button.danger", "Alert rule night is deleted")
	_, body = v.get("/alerts?state=sent")
	if n := strings.Count(body, `<tr id="alert-`); n != 1 || !strings.Contains(body, "api is down") {
		t.Errorf("%d alerts were sent", n)
	}
}
