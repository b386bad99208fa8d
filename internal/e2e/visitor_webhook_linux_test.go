package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// ofVisitors is set in the process of TestAWebhookOfAVisitor that has a network of its own. It is the address of a database.
const ofVisitors = "BELFRY_E2E_OF_VISITORS"

// publicAddress is an address of the public internet, which the network of that process has for itself.
const publicAddress = "9.9.9.9"

// Webhooks of visitors reach the public internet only. So this test runs itself again with a network of its own, where a receiver
// has a public address, and the node is as it is for users.
func TestAWebhookOfAVisitor(t *testing.T) {
	if database := os.Getenv(ofVisitors); database != "" {
		visitorsWebhook(t, newSite(t, database))
		return
	}
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "sqlite:belfry.db" },
		"postgres": func(t *testing.T) string { return pgtest.NewServer(t, pgtest.Options{}).SocketURL("postgres") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := exec.Command(os.Args[0], "-test.run=^TestAWebhookOfAVisitor$", "-test.v")
			again.Env = append(os.Environ(), ofVisitors+"="+database(t), "BELFRY_E2E_BINARY="+belfryPath())
			again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
			if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
				again.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
				again.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
				again.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
			}
			if out, err := again.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s\nIf there is no network of its own: run as root, or allow user namespaces", err, out)
			}
		})
	}
}

// ownNetwork gives the loopback device its own address and a public one.
func ownNetwork(t *testing.T) {
	t.Helper()
	fd := must[int](t)(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0))
	defer unix.Close(fd) //nolint:errcheck // it was only asked
	for _, step := range []struct {
		device, address string
		call            uint
	}{
		{"lo", "127.0.0.1", unix.SIOCSIFADDR}, {"lo", "255.0.0.0", unix.SIOCSIFNETMASK}, {"lo", "", unix.SIOCSIFFLAGS},
		{"lo:1", publicAddress, unix.SIOCSIFADDR}, {"lo:1", "255.255.255.255", unix.SIOCSIFNETMASK},
	} {
		r := must[*unix.Ifreq](t)(unix.NewIfreq(step.device))
		if step.address == "" {
			r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		} else if err := r.SetInet4Addr(net.ParseIP(step.address).To4()); err != nil {
			t.Fatal(err)
		}
		if err := unix.IoctlIfreq(fd, step.call, r); err != nil {
			t.Fatalf("%s %s: %v", step.device, step.address, err)
		}
	}
}

// got is a message that came to a path of a receiver.
type got struct {
	path, key, signature string
	alert.Message
	Unsubscribe string `json:"unsubscribe"`
	Challenge   string `json:"challenge"`
	accepted    bool
}

// hooks are receivers of webhooks, by their paths.
type hooks struct {
	*httptest.Server
	mu     sync.Mutex
	got    []got
	answer map[string]int // status of a path; 0: the challenge, or nothing
	hold   map[string]chan struct{}
}

func newHooks(t *testing.T, address string) *hooks {
	h := &hooks{answer: map[string]int{}, hold: map[string]chan struct{}{}}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := got{path: r.URL.Path, key: r.Header.Get("Belfry-Delivery"), signature: r.Header.Get("Belfry-Signature")}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		status, hold := h.answer[m.path], h.hold[m.path]
		m.accepted = status == 0 || m.Challenge != ""
		h.got = append(h.got, m)
		h.mu.Unlock()
		if hold != nil {
			<-hold
		}
		switch {
		case m.accepted:
			_, _ = io.WriteString(w, m.Challenge)
		case status == http.StatusFound:
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", status)
		default:
			w.WriteHeader(status)
		}
	}))
	_ = h.Listener.Close()
	h.Listener = must[net.Listener](t)(net.Listen("tcp", address+":0"))
	h.Start()
	t.Cleanup(h.Close)
	return h
}

func (h *hooks) set(path string, status int, hold chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer[path], h.hold[path] = status, hold
}

// at are the messages of a path, and what the accepted ones say, each once, as one text in their order.
func (h *hooks) at(path string) (all []got, told string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var keys []string
	for _, m := range h.got {
		if m.path != path {
			continue
		}
		all = append(all, m)
		if m.accepted && !slices.Contains(keys, m.key) {
			told += m.Title + "\n" + m.Text + "\n"
			keys = append(keys, m.key)
		}
	}
	return all, told
}

// waits waits until a path has accepted a text.
func (h *hooks) waits(t *testing.T, path, text string) {
	t.Helper()
	eventually(t, 2*patience, path+" is told "+text, func() (bool, string) {
		_, told := h.at(path)
		return strings.Contains(told, text), told
	})
}

// tries waits for so many messages to a path.
func (h *hooks) tries(t *testing.T, path string, n int) {
	t.Helper()
	eventually(t, patience, path+" is tried", func() (bool, string) {
		all, told := h.at(path)
		return len(all) >= n, told
	})
}

// sendForm sends a form as a program does, and returns the answer.
func sendForm(t *testing.T, method, address string, pairs url.Values) (int, string) {
	t.Helper()
	r := must[*http.Request](t)(http.NewRequest(method, address, strings.NewReader(pairs.Encode())))
	r.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	a := must[*http.Response](t)(plain.Do(r))
	defer a.Body.Close() //nolint:errcheck // nothing was written
	return a.StatusCode, string(must[[]byte](t)(io.ReadAll(a.Body)))
}

func visitorsWebhook(t *testing.T, s *site) {
	ownNetwork(t)
	s.env = append(s.env, "BELFRY_PUBLIC_URL=https://status.example")
	if s.postgres() {
		key := s.dir + "/seal-key"
		if err := os.WriteFile(key, []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, "BELFRY_SEAL_KEY_FILE="+key)
	}
	n := s.serve()
	ctx := t.Context()
	receiver, inside := newHooks(t, publicAddress), newHooks(t, "127.0.0.1")
	var down atomic.Bool
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	_ = target.Listener.Close()
	target.Listener = must[net.Listener](t)(net.Listen("tcp", publicAddress+":0"))
	target.Start()
	t.Cleanup(target.Close)

	must[view.MonitorView](t)(n.api.CreateMonitor(ctx, monitor.Monitor{Name: "site", Every: core.Duration(time.Second), Confirm: monitor.Confirm{Failures: 1},
		Flap: monitor.Flap{Off: true}, Check: task.Task{HTTP: &task.HTTP{URL: target.URL}}}))
	must[public.StatusPage](t)(n.api.SaveStatusPage(ctx, public.StatusPage{Name: "public", Title: "Acme",
		Sections: []public.StatusSection{{Monitors: []string{"site"}}}, Subscribe: &public.Subscribing{Webhooks: true}}))
	for _, address := range []string{receiver.URL + "/ok", receiver.URL + "/away", receiver.URL + "/moved", inside.URL + "/inside"} {
		if status, said := sendForm(t, http.MethodPost, n.url+"/status/public/subscribe", url.Values{"kind": {"webhook"}, "address": {address}}); status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", address, status, said)
		}
	}
	eventually(t, patience, "the challenges are answered", func() (bool, string) {
		c := must[view.SubscriberCounts](t)(n.api.CountSubscribers(ctx, "default", "public"))
		return c.Webhook == 3 && c.Pending == 1, fmt.Sprintf("%+v", c)
	})
	announce := func(title string) {
		must[public.Announcement](t)(n.api.CreateAnnouncement(ctx, public.Announcement{Page: "public", Title: title}))
	}

	receiver.set("/away", http.StatusInternalServerError, nil)
	receiver.set("/moved", http.StatusFound, nil)
	down.Store(true)
	var incident int64
	eventually(t, patience, "the monitor is down", func() (bool, string) {
		m := must[view.MonitorView](t)(n.api.Monitor(ctx, "default", "site"))
		incident = m.State.Incident
		return incident > 0, fmt.Sprintf("%+v", m.State)
	})
	must[monitor.Update](t)(n.api.UpdateIncident(ctx, "default", incident, monitor.Update{Text: "we look into it", Public: true}))
	receiver.waits(t, "/ok", "we look into it")
	receiver.tries(t, "/away", 2) // with the challenge
	announce("first news")
	receiver.waits(t, "/ok", "first news")
	receiver.set("/away", 0, nil)

	if !s.postgres() { // there the message of a killed node is taken by another after two minutes
		hold := make(chan struct{})
		receiver.set("/ok", 0, hold)
		announce("news of a killed node")
		receiver.waits(t, "/ok", "news of a killed node")
		n.kill()
		receiver.set("/ok", 0, nil)
		close(hold)
		n = s.serve()
		eventually(t, patience, "the message of the killed node is sent again", func() (bool, string) {
			all, _ := receiver.at("/ok")
			times := 0
			for _, m := range all {
				if strings.Contains(m.Title, "killed node") {
					times++
				}
			}
			return times == 2, fmt.Sprint(times)
		})
	}
	down.Store(false)
	receiver.waits(t, "/ok", "site is up again")
	receiver.waits(t, "/away", "site is up again")
	for _, path := range []string{"/ok", "/away"} {
		all, told := receiver.at(path)
		at := -1
		for _, text := range []string{"site is down", "we look into it", "first news", "site is up again"} {
			i := strings.Index(told, text)
			if i < at || strings.Count(told, text) != 1 {
				t.Errorf("%s was told out of order, or twice:\n%s", path, told)
			}
			at = i
		}
		for _, m := range all[1:] {
			if m.signature != "" || !strings.HasPrefix(m.Unsubscribe, "https://status.example/subscription/") || !strings.HasSuffix(m.Unsubscribe, all[0].Challenge) || m.Challenge != "" {
				t.Errorf("%s: %+v", path, m)
			}
		}
	}
	eventually(t, patience, "redirects are given up", func() (bool, string) {
		failed := must[core.Page[alert.Alert]](t)(n.api.Alerts(ctx, alert.Filter{State: alert.Failed, Channel: "subscriber/3"}))
		return len(failed.Items) > 0 && strings.Contains(failed.Items[0].Reason, "redirects are not followed"), fmt.Sprintf("%+v", failed.Items)
	})
	refused := must[core.Page[alert.Alert]](t)(n.api.Alerts(ctx, alert.Filter{State: alert.Failed, Channel: "subscriber/4"}))
	if len(refused.Items) != 1 || !strings.Contains(refused.Items[0].Reason, "webhooks of visitors reach the public internet only") {
		t.Errorf("%+v", refused.Items)
	}

	all, _ := receiver.at("/ok")
	leave := n.url + public.SubscriptionPath + all[0].Challenge
	if status, said := sendForm(t, http.MethodGet, leave, nil); status != http.StatusOK || !strings.Contains(said, `"state":"confirmed"`) {
		t.Errorf("%d %s", status, said)
	}
	if status, said := sendForm(t, http.MethodPost, leave, url.Values{"List-Unsubscribe": {"One-Click"}}); status != http.StatusOK || !strings.Contains(said, `"state":"left"`) {
		t.Errorf("%d %s", status, said)
	}
	announce("last news")
	receiver.waits(t, "/away", "last news")
	if _, told := receiver.at("/ok"); strings.Contains(told, "last news") {
		t.Errorf("told after the end:\n%s", told)
	}
	if got, _ := inside.at("/inside"); len(got) > 0 {
		t.Errorf("the node called a private address: %+v", got)
	}
}
