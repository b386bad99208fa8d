package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

func TestSettingsOfMonitorsAreFlags(t *testing.T) {
	t.Parallel()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(checkFlags).add(fs)
	var kinds []string
	for _, k := range kindFlags {
		kinds = append(kinds, k.name)
		if f := fs.Lookup(k.name); f == nil || !strings.HasPrefix(f.Usage, "kind "+string(k.kind)+": ") {
			t.Errorf("--%s is no flag of kind %s", k.name, k.kind)
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(kinds, f.Name) {
			return
		}
		of := kindsOf[f.Name]
		if len(of) == 0 {
			t.Errorf("--%s belongs to no kind", f.Name)
		}
		if len(of) >= len(probed) {
			return // it is about all of them
		}
		for _, k := range kindFlags {
			if told := strings.Contains(strings.SplitN(f.Usage, ": ", 2)[0], "--"+k.name); told != slices.Contains(of, k.kind) {
				t.Errorf("--%s: the help says %q, and it belongs to %v", f.Name, f.Usage, of)
			}
		}
	})
	for name := range kindsOf {
		if fs.Lookup(name) == nil {
			t.Errorf("--%s is no flag", name)
		}
	}
}

func TestFlagsMakeMonitors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]func(m monitor.Monitor) bool{
		"--url https://a.example --method HEAD --header A:b --bearer x --expect-status 200,301-399": func(m monitor.Monitor) bool {
			h := m.Check.HTTP
			return h.Method == "HEAD" && h.Headers["A"] == "b" && h.Auth.Bearer == "x" && len(h.ExpectStatus) == 2
		},
		"--page https://a.example --xpath //li --mask numbers,dates --baseline pinned --recheck 5s": func(m monitor.Monitor) bool {
			return m.Check.Page.XPath == "//li" && len(m.Check.Page.Mask) == 2 && m.Check.Page.Baseline == task.BaselinePinned
		},
		"--tcp a.example:25 --send EHLO --expect ^220": func(m monitor.Monitor) bool { return m.Check.TCP.Expect == "^220" },
		"--dns a.example --record mx --answer x --exact --resolver 9.9.9.9": func(m monitor.Monitor) bool {
			return m.Check.DNS.Exact && m.Check.DNS.Server == "9.9.9.9"
		},
		"--tls a.example --warn-days 30 --starttls smtp": func(m monitor.Monitor) bool { return m.Check.TLS.WarnDays == 30 },
		"--ping a.example --count 5 --max-loss 20":       func(m monitor.Monitor) bool { return m.Check.Ping.MaxLoss == 20 },
		"--grpc a.example:443 --service s --plaintext":   func(m monitor.Monitor) bool { return m.Check.GRPC.Plaintext },
		"--websocket wss://a.example --header A:b":       func(m monitor.Monitor) bool { return m.Check.WebSocket.Headers["A"] == "b" },
		"--command true --timeout 5s":                    func(m monitor.Monitor) bool { return m.Check.Command.Shell == "true" },
		"--heartbeat --every 1h --grace 10m --max-runtime 2h": func(m monitor.Monitor) bool {
			return m.Heartbeat.Grace.String() == "10m" && m.Every.String() == "1h"
		},
		"--url https://a.example --failing-for 2m --passing-for 1m --confirm-after=-1s --no-slow --no-flapping --muted": func(m monitor.Monitor) bool {
			return m.Confirm.For.String() == "2m" && m.Confirm.Retry < 0 && m.Slow.Off && m.Flap.Off && m.Muted
		},
	} {
		var f monitorFlags
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.add(fs)
		if err := fs.Parse(strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		m := monitor.Monitor{Name: "m"}
		err := f.apply(newCLI(strings.NewReader(""), io.Discard, io.Discard, nil), fs, &m)
		if err != nil || !want(m) {
			t.Errorf("%s: %v, got %+v", line, err, m)
			continue
		}
		full := m.WithDefaults()
		if err := full.Validate(full.CreatedAt); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestAnEditWritesToNothingShared(t *testing.T) {
	t.Parallel()
	shared := &task.HTTP{URL: "https://a.example", Auth: &task.HTTPAuth{Bearer: "old"}}
	m := monitor.Monitor{Name: "m", Check: task.Task{Kind: task.KindHTTP, HTTP: shared}}
	var f monitorFlags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(fs)
	if err := fs.Parse([]string{"--url", "https://b.example", "--bearer", "new"}); err != nil {
		t.Fatal(err)
	}
	if err := f.apply(newCLI(nil, io.Discard, io.Discard, nil), fs, &m); err != nil {
		t.Fatal(err)
	}
	if shared.URL != "https://a.example" || shared.Auth.Bearer != "old" {
		t.Errorf("changed to %+v with %+v", shared, shared.Auth)
	}
}

func TestSecretsComeFromFilesAndStandardInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("from a file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCLI(strings.NewReader("from a pipe\n"), io.Discard, io.Discard, nil)
	for _, tc := range []struct{ text, want string }{
		{"plain", "plain"}, {"@" + path, "from a file"}, {"-", "from a pipe"}, {"-", ""}, {"@" + empty, ""}, {"@" + path + "x", ""}, {"", ""},
	} {
		got, err := c.secret("--secret", tc.text)
		if string(got) != tc.want || (err == nil) != (tc.want != "" || tc.text == "") {
			t.Errorf("%q: got %q, %v", tc.text, string(got), err)
		}
		if err != nil && !strings.Contains(err.Error(), "--secret") {
			t.Errorf("%q: %v does not name the flag", tc.text, err)
		}
	}
	long := newCLI(strings.NewReader(strings.Repeat("x", maxSecret+1)), io.Discard, io.Discard, nil)
	if _, err := long.secret("--secret", "-"); core.CodeOf(err) != core.Invalid {
		t.Errorf("too long: %v", err)
	}
}

func TestMailServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]alert.EmailChannel{
		"smtp://mail.example.com":            {Host: "mail.example.com", TLS: "starttls"},
		"smtp://me@mail.example.com:2525":    {Host: "mail.example.com", Port: 2525, TLS: "starttls", User: "me"},
		"smtps://me:s%40x@mail.example.com/": {Host: "mail.example.com", TLS: "implicit", User: "me", Password: "s@x"},
		"smtp://[2001:db8::1]:25":            {Host: "2001:db8::1", Port: 25, TLS: "starttls"},
	} {
		var got alert.EmailChannel
		if err := mailServer(text, &got); err != nil || got.Host != want.Host || got.Port != want.Port || got.TLS != want.TLS || got.User != want.User || got.Password != want.Password {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "mail.example.com", "http://mail.example.com", "smtp://", "smtp://me:hunter2@h:port", "smtp://me:hunter2@h/inbox"} {
		err := mailServer(text, new(alert.EmailChannel))
		if core.CodeOf(err) != core.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPercentNeverRoundsUpToWhole(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64]string{1: "100%", 0: "0%", 0.5: "50%", 0.9999999: "99.999%", 0.99987: "99.987%", 0.123456: "12.345%", 0.29: "29%"} {
		if got := percent(ratio); got != want {
			t.Errorf("%v: got %s, want %s", ratio, got, want)
		}
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	s, err := sectionOf("Shop=site, api,tag:infra,")
	if err != nil || s.Title != "Shop" || len(s.Monitors) != 2 || len(s.Tags) != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestFlagsMakeMembers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]task.Member{
		"backup": {Task: "backup"},
		"report,every=24h,timeout=10m,max-attempts=3,on-failure=stop": {
			Task: "report", Every: core.Duration(24 * time.Hour), Timeout: core.Duration(10 * time.Minute), MaxAttempts: 3, OnFailure: task.FailureStop,
		},
		"a, every=7d, max_attempts=1":                   {Task: "a", Every: core.Duration(7 * 24 * time.Hour), MaxAttempts: 1},
		`a,every=1h,input={"x": [1,2], "every=": "3h"}`: {Task: "a", Every: core.Duration(time.Hour), Input: []byte(`{"x": [1,2], "every=": "3h"}`)},
		`a,input=1`: {Task: "a", Input: []byte("1")},
	} {
		if got, err := memberOf("--member", text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ",every=1h", "every=1h", "a,", "a,b", "a,every", "a,every=", "a,every=soon", "a,max-attempts=x", "a,on-failure=", "a,input={,", "a,,every=1h"} {
		got, err := memberOf("--member", text)
		if text == "a," { // a comma too many does no harm
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "--member") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// People write times as they are called where they are, whatever zone a
// schedule has.
func TestTimesFromNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	here := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.Local) }
	for text, want := range map[string]struct{ before, expiry time.Time }{
		"":                     {},
		"1h":                   {now.Add(-time.Hour), now.Add(time.Hour)},
		"2026-11-20":           {here(20, 0), here(20, 0)},
		"2026-11-20 18:00":     {here(20, 18), here(20, 18)},
		"2026-11-20T18:00:00Z": {time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)},
	} {
		var since, until time.Time
		if err := before(now, "--since", text, &since); err != nil || !since.Equal(want.before) {
			t.Errorf("before %q is %s, want %s: %v", text, since, want.before, err)
		}
		if err := expiry(now, text, &until); err != nil || !until.Equal(want.expiry) {
			t.Errorf("expiry %q is %s, want %s: %v", text, until, want.expiry, err)
		}
	}
	var to time.Time
	if err := before(now, "--since", "tomorrow", &to); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "--since") {
		t.Errorf("tomorrow: %v", err)
	}
}
