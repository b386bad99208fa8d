package intake_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/intake"
	"github.com/belfry-run/belfry/core"
)

func FuzzCrontab(f *testing.F) {
	for _, text := range []string{
		debian, packages, personal, "0 0 * * * a%b\\%c%", "@every 5m x", "@600 x", "-* * * * * -s x", "~ 0~5/2 * * * x", "CRON_TZ=UTC\n* * * * * x",
		"'a'=\"b\"\n@daily root x", "RANDOM_DELAY=5\n@hourly (", "0 0 * * *", "@", "-", "- ", "@reboot\tx", "* * * * * flock", "* * * * * \"", "=\n''=",
	} {
		f.Add(text, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, pick uint8) {
		o := intake.Options{Now: now, Format: []intake.Format{"", intake.FormatUser, intake.FormatSystem}[pick%3], Zone: []string{"", "Europe/Sofia"}[pick/3%2]}
		r, err := intake.Crontab(strings.NewReader(text), o)
		if err != nil {
			if code := core.CodeOf(err); code != core.Invalid && code != core.TooLarge {
				t.Errorf("a bare error: %v", err)
			}
			return
		}
		sound(t, r, "")
		// Without the comments and blank lines nothing changes but the numbers.
		var kept []string
		for line := range strings.Lines(text) {
			if s := strings.Trim(line, " \t\r\n"); s != "" && s[0] != '#' {
				kept = append(kept, strings.TrimSuffix(line, "\n"))
			}
		}
		again, err := intake.Crontab(strings.NewReader(strings.Join(kept, "\n")), o)
		if err != nil {
			t.Fatalf("without comments: %v", err)
		}
		same(t, "without comments", asJSON(again.Manifest), asJSON(r.Manifest))
	})
}

func FuzzCronJobs(f *testing.F) {
	for _, text := range []string{
		cronJob, job("schedule: 0 0 */2 * 1\nsuspend: true"), pod("backoffLimit: 3, ", "containers: [{command: [a, $(B), $$]}]"), "---\n---\n", "--- a\n... b",
		`{"kind":"List","items":[{"kind":"CronJob"}]}`, "kind: CronJob\nspec: &a {b: *a}", "kind: CronJob\n? [a]\n: b", "%YAML 1.2\n---\nkind: CronJob", "a: |\n  b\n---\n<<: c", "!!str a: b",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := intake.CronJobs(strings.NewReader(text), intake.Options{Now: now})
		if err != nil {
			if code := core.CodeOf(err); code != core.Invalid && code != core.TooLarge {
				t.Errorf("a bare error: %v", err)
			}
			return
		}
		sound(t, r, "")
	})
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func FuzzGatus(f *testing.F) {
	for _, text := range []string{
		endpoint("https://x", "[STATUS] == any(200, 404)", "[BODY].a-b[0] != pat(*x?*)", "len([BODY]) > 1", "300 >= [RESPONSE_TIME]"),
		"a: &a {b: c}\nendpoints:\n  - <<: *a\n    name: x\n    url: tcp://x:1\n    body: ${X}$$\n  - <<: [*a, *a]\n",
		"alerting: {slack: {webhook-url: $X, overrides: [{group: g}], default-alert: {failure-threshold: 1e3}}}\nendpoints: [{name: a, group: g, url: \"https://x\", alerts: [{type: slack, provider-override: {a: b}}]}]",
		"external-endpoints:\n  - name: x\n    heartbeat: {interval: 1h}\nmaintenance: {start: \"00:00\", duration: 24h, every: [Sunday, Sunday]}",
		"endpoints: [{name: d, url: 8.8.8.8, dns: {query-name: x, query-type: mx}, conditions: [\"[BODY] == pat(*)\", \"has([BODY].x) == true\"]}]\n---\nendpoints: [{name: t, url: \"tls://x\", conditions: [\"[CERTIFICATE_EXPIRATION] > 1h\"]}]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { soundly(t, intake.Gatus, text) })
}

func FuzzKuma(f *testing.F) {
	for _, text := range []string{
		`{"monitorList": [{"id": 1, "name": "x", "type": "http", "url": "https://u:p@x", "headers": "{\"a\": 1}", "interval": 1e3, "parent": 1}]}`,
		`{"1": {"type": "dns", "name": "x", "hostname": "x", "conditions": "[{}]"}, "2": {"type": "push", "name": ""}}`,
		`{"notificationList": [{"id": 1, "config": "{\"type\": \"smtp\", \"smtpTo\": \",\"}"}], "monitorList": {"1": {"type": "keyword", "name": "é", "keyword": "'\\", "notificationIDList": {"1": true}}}}`,
		`[{"type": "json-query", "name": "x", "url": "http://x", "jsonPath": "a.b[0]", "expectedValue": "\u2028"}, {"type": "group", "name": "g"}]`,
		`{"proxyList": [{"id": 1, "protocol": "http", "host": "::1", "port": "x"}], "monitorList": [{"type": "http", "name": "x", "url": "http://x", "proxyId": 1}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { soundly(t, intake.Kuma, text) })
}

// soundly reads foreign text, which may have any fault but one of ours, and
// reads it again to the same end.
func soundly(t *testing.T, how reader, text string) {
	t.Helper()
	r, err := how(strings.NewReader(text), intake.Options{Now: now})
	if err != nil {
		if code := core.CodeOf(err); code != core.Invalid && code != core.TooLarge {
			t.Errorf("a bare error: %v", err)
		}
		return
	}
	watched(t, r)
	again, err := how(strings.NewReader(text), intake.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "read again", asJSON(again), asJSON(r))
}
