package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
)

func TestNotificationRequestsOfEachService(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	s := newSender(t)
	for name, c := range httpChannels(r.URL) {
		var all bytes.Buffer
		for _, m := range messages {
			if err := s.Send(patient(t), c, m.Message); err != nil {
				t.Errorf("%s %s: %v", name, m.name, err)
			}
			for _, q := range r.take() {
				fmt.Fprintf(&all, "== %s\nPOST %s\n", m.name, q.path)
				for _, h := range []string{"Authorization", "Belfry-Delivery", "Belfry-Event", "Content-Type", "Idempotency-Key", "User-Agent", "X-Gotify-Key", "X-Key"} {
					if v := q.header.Get(h); v != "" {
						fmt.Fprintf(&all, "%s: %s\n", h, v)
					}
				}
				if !utf8.Valid(q.body) {
					t.Errorf("%s %s: invalid UTF-8", name, m.name)
				}
				if err := json.Indent(&all, q.body, "", "  "); err != nil {
					t.Errorf("%s %s: %v", name, m.name, err)
				}
				all.WriteString("\n\n")
			}
		}
		golden(t, name+".golden", all.Bytes())
	}
}

// TestMessagesRepeatNoFact is about what people read: a title, what is looked at,
// what it is for and what happened stand in each message once.
func TestMessagesRepeatNoFact(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	s := newSender(t)
	server := newMailServer(t, mailSetup{noTLS: true})
	shown := map[string]func(alert.Message) string{"email": func(m alert.Message) string {
		if err := s.Send(patient(t), server.channel("none", "ops@example.com"), m); err != nil {
			t.Fatal(err)
		}
		_, parts := readMail(t, server.take()[0].data)
		return parts[0].text
	}}
	for name, c := range httpChannels(r.URL) {
		if name == "webhook" || name == "pagerduty" { // programs read them
			continue
		}
		shown[name] = func(m alert.Message) string {
			if err := s.Send(patient(t), c, m); err != nil {
				t.Fatal(err)
			}
			var body any
			if err := json.Unmarshal(r.take()[0].body, &body); err != nil {
				t.Fatal(err)
			}
			return strings.Join(texts(body), "\n")
		}
	}
	for name, read := range shown {
		for _, m := range []alert.Message{composed(told), composed(toldUp), composed(told, toldPage)} {
			got := read(m)
			for _, n := range m.Notifications {
				for _, part := range append(strings.Split(n.Text, "\n"), n.Title, n.Target, n.About) {
					if n := strings.Count(got, part); part != "" && n != 1 {
						t.Errorf("%s says %q %d times:\n%s", name, part, n, got)
					}
				}
			}
			if m.URL != "" && strings.Count(got, m.URL) != 1 {
				t.Errorf("%s links %q %d times:\n%s", name, m.URL, strings.Count(got, m.URL), got)
			}
		}
	}
}

// texts are the values of a JSON document, but for what is shown only where
// nothing else can be.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		for name, e := range v {
			if name != "fallback" {
				all = append(all, texts(e)...)
			}
		}
	}
	return all
}

// limits of what a service takes, in bytes of its body.
var limits = map[string]int{"webhook": 1 << 20, "slack": 100 << 10, "telegram": 20 << 10, "discord": 30 << 10, "teams": 28 << 10, "pagerduty": 100 << 10, "ntfy": 10 << 10, "gotify": 10 << 10, "matrix": 64 << 10}

func TestHugeMessagesAreCut(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	s := newSender(t)
	m := huge()
	for name, c := range httpChannels(r.URL) {
		if err := s.Send(patient(t), c, m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := r.take()
		if want := map[string]int{"pagerduty": 100}[name]; len(got) != max(want, 1) {
			t.Errorf("%s: %d requests", name, len(got))
		}
		for _, q := range got {
			if len(q.body) > limits[name] || !json.Valid(q.body) || !utf8.Valid(q.body) {
				t.Errorf("%s: %d bytes, valid JSON: %t", name, len(q.body), json.Valid(q.body))
			}
			checkLimits(t, name, q.body)
		}
	}
}

// checkLimits of single fields, as the services write them down.
func checkLimits(t failer, name string, body []byte) {
	t.Helper()
	var v struct {
		Text, Message, Title string
		Attachments          []struct{ Text, Title string }
		Embeds               []struct{ Title, Description string }
		Payload              struct{ Summary string }
	}
	_ = json.Unmarshal(body, &v)
	most := func(what, s string, limit int) {
		t.Helper()
		if n := notify.Units(s); n > limit {
			t.Errorf("%s: %s has %d, may have %d", name, what, n, limit)
		}
	}
	switch name {
	case "telegram":
		most("text", v.Text, 4096)
		if strings.Count(v.Text, "<b>") != strings.Count(v.Text, "</b>") || strings.Count(v.Text, "<pre>") != strings.Count(v.Text, "</pre>") {
			t.Error("telegram: a tag is not closed")
		}
	case "ntfy":
		if len(v.Message) > 4096 {
			t.Errorf("ntfy: message of %d bytes", len(v.Message))
		}
		most("title", v.Title, 250)
	case "slack":
		if len(v.Attachments) > 50 {
			t.Errorf("slack: %d attachments", len(v.Attachments))
		}
		for _, a := range v.Attachments {
			most("text", a.Text, 3000)
			if strings.Count(a.Text, "```")%2 != 0 {
				t.Error("slack: a fence is not closed")
			}
		}
	case "discord":
		total := 0
		for _, e := range v.Embeds {
			most("title", e.Title, 256)
			most("description", e.Description, 4096)
			total += notify.Units(e.Title + e.Description)
		}
		if len(v.Embeds) > 10 || total > 6000 {
			t.Errorf("discord: %d embeds, %d in all", len(v.Embeds), total)
		}
	case "pagerduty":
		most("summary", v.Payload.Summary, 1024)
	}
}

func TestReceiversThatNeverAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hang := newReceiver(t, func(_ http.ResponseWriter, q *http.Request) {
		select {
		case <-release:
		case <-q.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	s := newSender(t)
	for name, c := range httpChannels(hang.URL) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := s.Send(ctx, c, messages[0].Message)
		cancel()
		checkFault(t, name, err, false, "took too long")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		err = s.Send(ctx, c, messages[0].Message)
		checkFault(t, name, err, false, "canceled")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A receiver that said yes and then drips its body has taken the message.
func TestAYesIsAYesHoweverLongItsBodyTakes(t *testing.T) {
	t.Parallel()
	drip := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(200)
		_, _ = io.WriteString(w, "{")
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	})
	s := newSender(t)
	send := func(within time.Duration) (errs map[string]error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		errs = map[string]error{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for name, c := range httpChannels(drip.URL) {
			all.Go(func() {
				err := s.Send(ctx, c, messages[0].Message)
				mu.Lock()
				defer mu.Unlock()
				errs[name] = err
			})
		}
		all.Wait()
		return errs
	}
	taken := func(errs map[string]error) bool {
		for name, err := range errs {
			if err != nil && name != "telegram" {
				return false
			}
		}
		return true
	}
	errs := send(3 * time.Second)
	if !taken(errs) { // a busy machine may not have got the heads of all answers by then
		errs = send(30 * time.Second)
	}
	for name, err := range errs {
		if name == "telegram" { // its body says whether it did
			checkFault(t, name, err, false, "did not answer as Telegram does")
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A body that drips takes no place among the tries under way for as long as a try may last.
func TestABodyIsNotWaitedForOnceItsStatusIsKnown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 503} {
		drip := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "so far")
			w.(http.Flusher).Flush()
			<-q.Context().Done()
		})
		s := newSender(t)
		s.BodyTime(20 * time.Millisecond)
		ctx := patient(t)
		err := s.Send(ctx, httpChannels(drip.URL)["webhook"], messages[0].Message)
		if ctx.Err() != nil {
			t.Errorf("status %d: the try lasted as long as it may", status)
		}
		if status == 200 && err != nil {
			t.Errorf("status 200: %v", err)
		}
		if status == 503 {
			checkFault(t, "status 503", err, false, "answered 503")
		}
	}
}

func TestWaitsThatStandInTheBody(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(429)
		_, _ = io.WriteString(w, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":31},"retry_after":0.75,"global":false}`)
	})
	s := newSender(t)
	for name, want := range map[string]time.Duration{"telegram": 31 * time.Second, "discord": 750 * time.Millisecond, "slack": 0} {
		if got := notify.RetryAfter(s.Send(patient(t), httpChannels(r.URL)[name], messages[0].Message)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestTelegramThatIsNotContent(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"ok":false,"description":"` + marker + `"}`, "", "<html>", "null", "[]"} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		err := newSender(t).Send(patient(t), httpChannels(r.URL)["telegram"], messages[0].Message)
		checkFault(t, body, err, false, "did not answer as Telegram does")
	}
}

func TestNotificationToAClosedPortFails(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	s := newSender(t)
	for name, c := range httpChannels("http://" + l.Addr().String()) {
		checkFault(t, name, s.Send(patient(t), c, messages[0].Message), false, l.Addr().String())
	}
}

func TestATLSServerWithAnUnknownAuthorityIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	s := newSender(t)
	for name, c := range httpChannels(server.URL) {
		checkFault(t, name, s.Send(patient(t), c, messages[0].Message), false, "certificate")
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	for _, address := range []string{"", string(core.Redacted), "ftp://h/" + marker, "http://", "http:///" + marker, "http:" + marker, "http://a b/" + marker,
		"http://[::1/" + marker, "http://h/%zz" + marker, "h/" + marker, "http://h:99999999/" + marker, "http://h\x00/" + marker, "javascript:" + marker} {
		for name, c := range httpChannels(address) {
			if c.PagerDuty != nil && address == "" || c.Telegram != nil && address == "" || c.Ntfy != nil && address == "" {
				continue // these know where to
			}
			err := s.Send(patient(t), c, messages[0].Message)
			checkFault(t, name+" "+address, err, !strings.Contains(address, "99999"), "")
		}
	}
}

func TestTheGuardHoldsForChannels(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	strict := notify.New(notify.Options{})
	t.Cleanup(strict.Close)
	for _, address := range []string{r.URL, "http://169.254.169.254", "http://[fd00:ec2::254]", "http://10.0.0.1:8080", "http://localhost:1"} {
		for name, c := range httpChannels(address) {
			err := strict.Send(patient(t), c, messages[0].Message)
			checkFault(t, name, err, true, "may not reach it")
			if !errors.As(err, new(*guard.Denied)) {
				t.Errorf("%s %s: %v", name, address, err)
			}
		}
	}
	mail := alert.Channel{Email: &alert.EmailChannel{Host: "169.254.169.254", From: "a@example.com", To: []string{"b@example.com"}, Password: marker}}
	checkFault(t, "mail", strict.Send(patient(t), mail, messages[0].Message), true, "may not reach it")
	if len(r.take()) > 0 {
		t.Error("the receiver was reached")
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	target := newReceiver(t, nil)
	r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, target.URL, http.StatusTemporaryRedirect)
	})
	s := newSender(t)
	for name, c := range httpChannels(r.URL) {
		checkFault(t, name, s.Send(patient(t), c, messages[0].Message), true, "give the final one")
	}
	if len(target.take()) > 0 {
		t.Error("a redirect was followed")
	}
}

func TestAChannelHasOneWay(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	checkFault(t, "none", s.Send(patient(t), alert.Channel{Name: "x"}, alert.Message{}), true, "no way to tell")
	c := httpChannels("http://127.0.0.1:1")["slack"]
	c.Command = &alert.CommandChannel{Argv: []string{"true"}}
	checkFault(t, "two", s.Send(patient(t), c, alert.Message{}), true, "several ways")
}

// failer is a test, or a try of a property.
type failer interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
}
