package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

const watching = `
channels:
  - name: ops
    webhook: {url: https://hooks.example.com/x, secret: yes, headers: {X-Key: 0755}}
  - name: mail
    email: {host: mail.example.com, from: a@example.com, to: b@example.com}
alert_rules:
  - name: all
    on: [down, up]
    channels: ops
    group: -1s
monitors:
  - name: site
    every: 30s
    check:
      http: {url: https://example.com, expect_status: 200}
      conditions: status == 200
      warnings: ["latency < duration('800ms')"]
    confirm: {failures: 3, for: 1m}
    slow: {sigma: 2.5}
  - name: backup
    heartbeat: {grace: 30m}
    rules: [{cron: 0 3 * * *}]
windows:
  - name: once
    from: 2126-01-01T00:00:00Z
    to: 2126-01-01T04:00:00+02:00
  - name: nightly
    rules: [{cron: 30 3 * * *}]
    lasts: 30m
status_pages:
  - name: public
    sections: [{title: Shop, monitors: site, tags: [shop]}]
`

func TestManifestReadsWatchedFields(t *testing.T) {
	t.Parallel()
	defs, err := parse(t, watching, "monitors:\n  - {name: more, check: {tcp: {address: 'example.com:443'}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(defs.Monitors) != 3 || len(defs.Channels) != 2 || len(defs.AlertRules) != 1 || len(defs.Windows) != 2 || len(defs.StatusPages) != 1 {
		t.Fatalf("got %+v", defs.Manifest)
	}
	w := defs.Channels[0].Webhook
	if w.Secret != "yes" || w.Headers["X-Key"] != "0755" {
		t.Errorf("got %q and %q", string(w.Secret), string(w.Headers["X-Key"]))
	}
	site := defs.Monitors[0]
	if site.Slow.Sigma != 2.5 || site.Confirm.For.D() != time.Minute || len(site.Check.Conditions) != 1 || defs.AlertRules[0].Group >= 0 {
		t.Errorf("got %+v", site)
	}
	if defs.Monitors[1].Heartbeat.Grace.D() != 30*time.Minute {
		t.Errorf("got %+v", defs.Monitors[1])
	}
}

func TestWatchedConfigurationIsReadAsWritten(t *testing.T) {
	t.Parallel()
	defs, err := parse(t, watching)
	if err != nil {
		t.Fatal(err)
	}
	in := defs.WithDefaults(core.DefaultNamespace)
	var out bytes.Buffer
	if err := WriteYAML(&out, in); err != nil {
		t.Fatal(err)
	}
	back, err := parse(t, out.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	a, _ := json.Marshal(in)
	b, _ := json.Marshal(back.WithDefaults(core.DefaultNamespace))
	if !bytes.Equal(a, b) {
		t.Errorf("changed on the way:\n%s\n%s\n%s", a, out.String(), b)
	}
}

func TestFaultsOfWatchedConfigurationHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"monitors:\n  - name: a\n    check:\n      http: {url: 'ftp://x'}\n":                                                   "a.yaml:4:19: monitors[0].check.http.url",
		"monitors:\n  - name: a\n    evry: 1m\n":                                                                               "a.yaml:3:5: monitors[0].evry",
		"monitors:\n  - name: a\n    heartbeat: {}\n    check: {tcp: {address: 'x:1'}}\n":                                      "a.yaml:4:12: monitors[0].check",
		"monitors:\n  - name: a\n    every: 30\n    heartbeat: {}\n":                                                           "a.yaml:3:12: monitors[0].every",
		"channels:\n  - name: a\n    slack: {url: 'x'}\n    teams: {url: 'https://x'}\n":                                       "a.yaml:3:18: channels[0].slack.url",
		"alert_rules:\n  - name: a\n    channels: [ops]\n    on:\n      - down\n      - explosion\n":                           "a.yaml:6:9: alert_rules[0].on[1]",
		"windows:\n  - name: a\n    rules:\n      - every: 1h\n    lasts: 1m\n":                                                "a.yaml:4:9: windows[0].rules[0]",
		"status_pages:\n  - name: a\n    sections:\n      - monitors: [x]\n      - title: t\n":                                 "a.yaml:5:9: status_pages[0].sections[1]",
		"monitors:\n  - {name: a, heartbeat: {}}\n---\nmonitors:\n  - name: a\n    heartbeat: {}\n":                            "a.yaml:5:5: monitors[1]",
		"channels:\n  - name: a\n    webhook:\n      urll: x\n      secret: hunter2\n":                                         "a.yaml:4:7: channels[0].webhook.urll",
		"monitors:\n  - name: a\n    check:\n      http:\n        url: https://x\n        auth: {bearer: hunter2, user: me}\n": "a.yaml:6:24: monitors[0].check.http.auth.bearer",
	} {
		found := faultsOf(t, text)
		var all []string
		for _, f := range found {
			all = append(all, f.Place.String()+": "+f.Field)
			if f.Excerpt == "" {
				t.Errorf("%s: %v has no excerpt", text, f)
			}
			if strings.Contains(f.FieldError.String()+f.Excerpt, "hunter2") {
				t.Errorf("%s: %s repeats a secret:\n%s", text, f.FieldError, f.Excerpt)
			}
		}
		if !strings.HasPrefix(strings.Join(all, "\n"), want) {
			t.Errorf("%s\ngot %q, want %s", text, all, want)
		}
	}
}

func TestASecretThatStaysIsReadAsSuch(t *testing.T) {
	t.Parallel()
	defs, err := parse(t, "channels:\n  - name: a\n    slack: {url: (kept secret)}\n")
	if err != nil || defs.Channels[0].Slack.URL != core.Redacted {
		t.Errorf("got %+v, %v", defs.Channels, err)
	}
	located := defs.Locate(core.InvalidField("channels[0].slack.url", "", "is not there", ""))
	var fe *FileError
	if !errors.As(located, &fe) || fe.Faults[0].Place.Line != 3 {
		t.Errorf("got %v", located)
	}
}
