package intake_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/intake"
	"github.com/belfry-run/belfry/app/intake/internal/gatus"
	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// endpoint is a configuration with one endpoint.
func endpoint(url string, conditions ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "endpoints:\n  - name: x\n    url: %q\n    conditions:\n", url)
	for _, c := range conditions {
		fmt.Fprintf(&b, "      - %q\n", c)
	}
	return b.String()
}

const (
	object = `{"user": {"name": "john", "age": 31}, "id": "31", "on": true, "list": [{"n": 1}, {"n": 2}], "my-key": null}`
	page   = "\n<html>\n<h1>It works</h1>\n"
)

// What a condition becomes holds of what Gatus says it holds of.
func TestConditionsMeanTheSame(t *testing.T) {
	for _, tc := range []struct {
		url, text, want string // one condition, or what was said instead
		body            string
		holds           bool
	}{
		{"", "[RESPONSE_TIME] < 300", "latency < duration('300ms')", "", true},
		{"", "[RESPONSE_TIME] >= 2s", "latency >= duration('2s')", "", false},
		{"", "300 > [RESPONSE_TIME]", "latency < duration('300ms')", "", true},
		{"", "[BODY] == ok", "trim(body) == 'ok'", " ok\n", true},
		{"", "[BODY] != ok", "trim(body) != 'ok'", " ok\n", false},
		{"", "[body] == any(ok, fine)", "trim(body) in ['ok', 'fine']", "fine", true},
		{"", "[BODY] == pat(*<h1>It works</h1>*)", "body contains '<h1>It works</h1>'", page, true},
		{"", "[BODY] == pat(<html>*)", "body startsWith '<html>'", page, false},
		{"", "[BODY] == pat(*</h1>)", "body endsWith '</h1>'", page, false},
		{"", "[BODY] == pat(ok)", "body == 'ok'", "ok", true},
		{"", "[BODY] == pat(*It w?rks*)", "body matches '(?s)^.*It w.rks.*$'", page, true},
		{"", "[BODY] != pat(*error*)", "not (body contains 'error')", page, true},
		{"", "[BODY].user.name == john", "jq('.user.name') == 'john'", object, true},
		{"", "[BODY].user.name != john", "jq('.user.name') != 'john'", object, false},
		{"", "[BODY].user.nobody == john", "jq('.user.nobody') == 'john'", object, false},
		{"", "[BODY].user.age == 31", "jq('.user.age | tostring') == '31'", object, true},
		{"", "[BODY].id == 31", "jq('.id | tostring') == '31'", object, true},
		{"", "[BODY].on == true", "jq('.on | tostring') == 'true'", object, true},
		{"", "[BODY].id == [BODY].user.age", "jq('.id | tostring') == jq('.user.age | tostring')", object, true},
		{"", "[BODY].id <= [BODY].user.age", "jq('.id | tonumber? // 0') <= jq('.user.age | tonumber? // 0')", object, true},
		{"", "[BODY].user.age > 18", "jq('.user.age | tonumber? // 0') > 18", object, true},
		{"", "[BODY].id > 0x20", "jq('.id | tonumber? // 0') > 32", object, false},
		{"", "[BODY].user.nobody > 18", "jq('.user.nobody | tonumber? // 0') > 18", object, false},
		{"", "[BODY].user.name == pat(jo*)", "jq('.user.name | tostring') startsWith 'jo'", object, true},
		{"", "[BODY].user.age == any(30, 31)", "jq('.user.age | tostring') in ['30', '31']", object, true},
		{"", "[BODY].list[1].n == 2", "jq('.list[1].n | tostring') == '2'", object, true},
		{"", "[BODY][1].n == 2", "jq('.[1].n | tostring') == '2'", `[{"n": 1}, {"n": 2}]`, true},
		{"", "len([BODY].list) == 2", "jq('.list | length') == 2", object, true},
		{"", "len([BODY].user.name) > 4", "jq('.user.name | length') > 4", object, false},
		{"", "len([BODY]) > 1", "jq('length') > 1", `[1, 2]`, true},
		{"", "[BODY] > 41", "jq('tonumber? // 0') > 41", "42", true},
		{"", "has([BODY].errors) == false", "jq('.errors') == nil", object, true},
		{"", "has([BODY].user.name) != false", "jq('.user.name') != nil", object, true},
		{"", "has([BODY].list) == false", "jq('.list') == nil", object, false},
		{"", `[BODY].my-key == x`, `jq('."my-key"') == 'x'`, object, false},
		{"", "[HEADER].Content-Type == pat(text/*)", "header('Content-Type') startsWith 'text/'", "", true},
		{"", "[IP] == 192.0.2.7", "ip == '192.0.2.7'", "", true},
		{"", "[IP] == any(192.0.2.7, 192.0.2.8)", "ip in ['192.0.2.7', '192.0.2.8']", "", true},
		{"", "[IP] == pat(10.*)", "ip startsWith '10.'", "", false},
		{"", "[CERTIFICATE_EXPIRATION] > 48h", "cert_days >= 2", "", true},
		{"", "[CERTIFICATE_EXPIRATION] > 60h", "cert_days >= 3", "", false},
		{"", "[CERTIFICATE_EXPIRATION] < 48h", "cert_days < 2", "", false},
		{"dns", "[BODY] == any(192.0.2.1, 192.0.2.2)", "any(answers, # in ['192.0.2.1', '192.0.2.2'])", "", true},
		{"dns", "[BODY] == pat(192.0.*)", "any(answers, # startsWith '192.0.')", "", true},
		{"mx", "[BODY] == mail.example.com.", "any(answers, last(split(#, ' ')) == 'mail.example.com.')", "", true},
		{"mx", "[BODY] == pat(mail.*)", "any(answers, last(split(#, ' ')) startsWith 'mail.')", "", true},
		{"tcp://x:1", "[BODY] != pat(*ERR*)", "not (body contains 'ERR')", "-ERR no", false},
	} {
		t.Run(tc.text, func(t *testing.T) {
			text := endpoint(orText(tc.url, "https://example.org"), tc.text)
			if tc.url == "dns" || tc.url == "mx" {
				text = endpoint("8.8.8.8", tc.text) + "    dns: {query-name: example.com, query-type: " + map[string]string{"dns": "A", "mx": "MX"}[tc.url] + "}\n"
			}
			r := read(t, intake.Gatus, text)
			if len(r.Lines) != 1 || len(r.Lines[0].Notes) > 0 || r.Lines[0].Err != nil {
				t.Fatalf("%+v", r.Lines)
			}
			check := r.Manifest.Monitors[0].WithDefaults().Check
			if got := strings.Join(check.Conditions, " AND "); got != tc.want {
				t.Fatalf("is %s, want %s", got, tc.want)
			}
			p, err := condition.Compile(check.Kind, check.Conditions[0])
			if err != nil {
				t.Fatal(err)
			}
			answers := map[string][]string{"dns": {"192.0.2.1"}, "mx": {"10 mail.example.com.", "20 backup.example.com."}}[tc.url]
			facts := &condition.Facts{
				Latency: 200 * time.Millisecond, IP: "192.0.2.7", Body: []byte(tc.body), Header: http.Header{"Content-Type": {"text/html"}},
				CertEnd: now.Add(2*24*time.Hour + 5*time.Hour), Answers: answers,
			}
			if res := p.Judge(condition.On(facts, now)); res.Holds != tc.holds {
				t.Errorf("%s: %+v", tc.want, res)
			}
		})
	}
}

func orText(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// What says nothing here, or is a setting, is no condition.
func TestConditionsThatAreSettings(t *testing.T) {
	for _, tc := range []struct {
		url        string
		conditions []string
		want       func(c task.Task) string
		is         string
	}{
		{"https://x", []string{"[STATUS] == 200"}, status, "200"},
		{"https://x", []string{"200 == [STATUS]"}, status, "200"},
		{"https://x", []string{"[STATUS] < 300"}, status, "100-299"},
		{"https://x", []string{"[STATUS] <= 299", "[STATUS] >= 200"}, status, "200-299"},
		{"https://x", []string{"[STATUS] > 400"}, status, "401-599"},
		{"https://x", []string{"[STATUS] != 500"}, status, "100-499,501-599"},
		{"https://x", []string{"[STATUS] == any(200, 429, 201)"}, status, "200-201,429"},
		{"https://x", []string{"[STATUS] == pat(2*)"}, status, "200-299"},
		{"https://x", []string{"[STATUS] != pat(5?3)"}, status, "100-502,504-512,514-522,524-532,534-542,544-552,554-562,564-572,574-582,584-592,594-599"},
		{"https://x", []string{"[CONNECTED] == true"}, status, "100-599"},
		{"https://x", nil, status, ""},
		{"tls://x:443", []string{"[CERTIFICATE_EXPIRATION] > 48h"}, func(c task.Task) string { return strconv.Itoa(c.TLS.FailDays) }, "2"},
		{"starttls://x:25", []string{"[CERTIFICATE_EXPIRATION] >= 30h", "[CERTIFICATE_EXPIRATION] > 1h"}, func(c task.Task) string { return strconv.Itoa(c.TLS.FailDays) }, "2"},
		{"tcp://x:1", []string{"[CONNECTED] != false", "[BODY] == +PONG"}, func(c task.Task) string { return c.TCP.Expect }, `^\s*\+PONG\s*$`},
		{"tcp://x:1", []string{"[BODY] == pat(*PONG*)"}, func(c task.Task) string { return c.TCP.Expect }, "(?s)PONG"},
		{"tcp://x:1", []string{"[BODY] == pat(+*)"}, func(c task.Task) string { return c.TCP.Expect }, `(?s)^\s*\+.*\s*$`},
		{"udp://x:1", []string{"[BODY] == pat(*PONG*)"}, func(c task.Task) string { return c.UDP.Address + " " + c.UDP.Expect }, "x:1 (?s)PONG"},
		{"wss://x", []string{"[BODY] == any(pong, ok)"}, func(c task.Task) string { return c.WebSocket.Expect }, `^\s*(?:pong|ok)\s*$`},
		{"ssh://x", []string{"[CONNECTED] == true"}, func(c task.Task) string { return c.TCP.Address + " " + c.TCP.Expect }, "x:22 ^SSH-"},
		{"icmp://x", []string{"[CONNECTED] == true"}, func(c task.Task) string { return c.Ping.Host + " " + strconv.Itoa(c.Ping.Count) }, "x 1"},
		{"grpc://x:1", []string{"[CONNECTED] == true"}, func(c task.Task) string { return c.GRPC.Address + " " + strconv.FormatBool(c.GRPC.Plaintext) }, "x:1 true"},
	} {
		r := read(t, intake.Gatus, endpoint(tc.url, tc.conditions...))
		if len(r.Manifest.Monitors) != 1 {
			t.Errorf("%s %v: %+v", tc.url, tc.conditions, r.Lines)
			continue
		}
		check := r.Manifest.Monitors[0].Check
		if got := tc.want(check); got != tc.is || len(check.Conditions) > 0 {
			t.Errorf("%s %v: %q and %q, want %q", tc.url, tc.conditions, got, check.Conditions, tc.is)
		}
	}
}

func status(c task.Task) string { return strings.Join(c.HTTP.ExpectStatus, ",") }

// What cannot be said is a note that names its place, and the monitor has the
// rest.
func TestConditionsThatCannotBeSaid(t *testing.T) {
	for _, tc := range []struct{ url, text, why string }{
		{"https://x", "[STATUS]==200", "is not a condition"},
		{"https://x", "a == b", "compares two texts"},
		{"https://x", "[STATUS] == ok", "compares a status with what is none"},
		{"https://x", "[RESPONSE_TIME] < soon", "compares a time with what is none"},
		{"https://x", "[BODY].items[*].ok == true", "no word for"},
		{"https://x", "[BODY].x == [CONTEXT].y", "no word for"},
		{"https://x", "age([BODY].at) < 10m", "no word for"},
		{"https://x", "len([STATUS]) == 3", "no word for"},
		{"https://x", "[STATUS] == [BODY].code", "compares two things"},
		{"https://x", "[DOMAIN_EXPIRATION] > 720h", "the host is not below one"},
		{"https://x.example.com", "[DOMAIN_EXPIRATION] > soon", "compares a time with what is none"},
		{"https://x.example.com", "[DOMAIN_EXPIRATION] < 720h", "wants a registration to end"},
		{"https://x", "[CERTIFICATE_EXPIRATION] == 48h", "at one exact time"},
		{"https://x", "[CERTIFICATE_EXPIRATION] > soon", "compares a time with what is none"},
		{"https://x", "[DNS_RCODE] == NOERROR", "is about DNS"},
		{"https://x", "[BODY].x > big", "orders what is not a number"},
		{"https://x", "[BODY] < big", "orders what is not a number"},
		{"https://x", "[IP] < 3", "orders texts"},
		{"https://x", "[BODY] != pat(*)", "can never hold"},
		{"https://x", "[BODY] == pat(*[0-9]*)", "has a pattern with ["},
		{"https://x", "len([BODY].x) > many", "compares a length"},
		{"https://x", "has([BODY].x) == 1", "neither true nor false"},
		{"tcp://x:1", "[STATUS] == 200", "is about a status"},
		{"tcp://x:1", "[BODY].x == 1", "is about JSON"},
		{"tcp://x:1", "[BODY] > 1", "orders a text"},
		{"tcp://x:1", "[HEADER].A == b", "is about headers"},
		{"icmp://x", "[BODY] == x", "is about a body"},
		{"icmp://x", "[CERTIFICATE_EXPIRATION] > 48h", "is about a certificate"},
		{"https://x", "[BODY] == " + strings.Repeat("x", task.MaxCondition), "has more than 2048 bytes"},
	} {
		r := read(t, intake.Gatus, endpoint(tc.url, "[CONNECTED] == true", tc.text))
		if len(r.Manifest.Monitors) != 1 || len(r.Lines[0].Notes) != 1 {
			t.Errorf("%s: %+v", tc.text, r.Lines)
			continue
		}
		note := r.Lines[0].Notes[0]
		if !strings.HasPrefix(note, "x: ") || !strings.Contains(note, tc.why) || tc.why != "has more than 2048 bytes" && !strings.Contains(note, "conditions[1]") {
			t.Errorf("%s: %q, want %q", tc.text, note, tc.why)
		}
	}
}

// An endpoint that Belfry cannot watch is left out, and says what to do.
func TestEndpointsThatAreLeftOut(t *testing.T) {
	for _, tc := range []struct{ text, field, message string }{
		{endpoint("sctp://x:53", "[CONNECTED] == true"), "x, url", "is of a kind that Belfry does not check"},
		{endpoint("", "[CONNECTED] == true"), "x, url", "is missing"},
		{endpoint("tcp://x:1", "[CONNECTED] == false"), "x, conditions[0]", "wants the target not to answer"},
		{endpoint("https://x", "[STATUS] == 200", "[STATUS] == 404"), "x, conditions", "allow no status at all"},
		{endpoint("tcp://x", "[CONNECTED] == true"), "x, check.tcp.address", "is not host:port"},
		{endpoint("https://x") + "    interval: often\n", "x, interval", "is not a length of time"},
		{endpoint("https://x") + "    interval: 1ms\n", "x, every", "is outside"},
		{"endpoints:\n  - url: https://x\n", "an endpoint, name", "is missing"},
		{"endpoints:\n  - https://x\n", "an endpoint", "is not an endpoint"},
		{"suites:\n  - name: login\n", "login", "is a suite"},
		{"maintenance: {start: noon, duration: 1h}\n", "maintenance", "has no start"},
		{"maintenance: {start: \"23:00\", duration: 1 hour}\n", "maintenance", "has no duration"},
		{"maintenance: {start: \"23:00\", duration: 1h, timezone: Mars/Base}\n", "maintenance", "timezone that is not known"},
		{"maintenance: {start: \"23:00\", duration: 1h, every: [Mittwoch]}\n", "maintenance", "has a day that is none"},
		{"maintenance: {start: \"00:00\", duration: 24h}\n", "maintenance", "is so long that the window never ends"},
		{"alerting: {slack: {webhook-url: nowhere}}\n", "slack, slack.url", "is not an absolute URL"},
		{"alerting: {telegram: {token: x, id: \"1\"}}\n", "telegram, telegram.token", "is not the token of a bot"},
		{"alerting: {pushover: {token: x}}\n", "pushover", "is a kind of channel that Belfry does not have"},
		{"endpoints: {a: [}\n", "", "is not YAML"},
		{"endpoints:\n  - name: *nowhere\n", "", "an alias of an anchor that is not there"},
		{"endpoints:\n  - <<: [a]\n", "", "merges what is not a mapping"},
		{"endpoints:\n  - name: !!str x\n", "", "is a YAML tag"},
	} {
		r := read(t, intake.Gatus, tc.text)
		l := r.Lines[0]
		if l.Err == nil || !strings.HasSuffix(l.Err.Field, tc.field) || !strings.Contains(l.Err.Message, tc.message) {
			t.Errorf("%s: %+v, want %s %s", tc.text, l.Err, tc.field, tc.message)
		}
	}
}

// Alerts of one endpoint, and those of many.
func TestAlertsBecomeRules(t *testing.T) {
	var b strings.Builder
	b.WriteString("alerting:\n  slack: {webhook-url: https://hooks.example.com/a}\n  broken: {}\nendpoints:\n")
	for i := range 2100 {
		fmt.Fprintf(&b, "  - {name: e, group: g%d, url: \"https://e%d.example.com\", conditions: [\"[STATUS] == 200\"], alerts: [{type: slack}]}\n", i%3, i)
	}
	r := read(t, intake.Gatus, b.String())
	m := r.Manifest
	if len(m.Monitors) != 2100 || len(m.AlertRules) != 3 {
		t.Fatalf("%d monitors, %d rules", len(m.Monitors), len(m.AlertRules))
	}
	var names, rules []string
	for _, o := range m.Monitors[:6] {
		names = append(names, o.Name)
	}
	for _, rule := range m.AlertRules {
		rules = append(rules, fmt.Sprintf("%s %d", rule.Name, len(rule.Monitors)))
	}
	same(t, "names", names, []string{"e", "g1-e", "g2-e", "g0-e", "g1-e-2", "g2-e-2"})
	same(t, "rules", rules, []string{"slack 1000", "slack-2 1000", "slack-3 100"})

	base := endpoint("https://x", "[STATUS] == 200")
	for _, tc := range []struct{ alerts, note string }{
		{"[{type: pagerduty}]", "x: alerts[0]: no notification is sent, because pagerduty is not set up under alerting"},
		{"[{}]", "x: alerts[0]: no notification is sent, because its type is not set up under alerting"},
		{"[{type: slack, enabled: false}]", "x: alerts[0] is disabled and left out"},
		{"[{type: slack, failure-threshold: 1000}]", "x: alerts[0].failure-threshold is 1000, which Belfry takes as 100"},
		{"[{type: slack, minimum-reminder-interval: 1000h}]", "x: alerts[0].minimum-reminder-interval is 1000h, which Belfry takes as 7d"},
		{"[{type: slack, provider-override: {webhook-url: nowhere}}]", "x: alerts[0]: no notification is sent, because the channel slack could not be carried over: is not an absolute URL"},
		{"[{type: slack}, {type: slack, success-threshold: 5}]", "x: its alerts have different values of success-threshold: 2, 5; a monitor has one, and it is 2"},
	} {
		r := read(t, intake.Gatus, "alerting: {slack: {webhook-url: https://hooks.example.com/a}}\n"+base+"    alerts: "+tc.alerts+"\n")
		if notes := r.Lines[1].Notes; !slices.Contains(notes, tc.note) || len(r.Manifest.Monitors) != 1 {
			t.Errorf("%s: %q", tc.alerts, notes)
		}
	}
}

// Other notes on an endpoint.
func TestEndpointNotes(t *testing.T) {
	for _, tc := range []struct{ url, more, note string }{
		{"https://x", "body: \"[RANDOM_STRING_8]\"", "x: body: [RANDOM_STRING_] is sent as it stands, because Belfry has no placeholders"},
		{"https://x", "body: \"from [LOCAL_ADDRESS]\"", "x: body: [LOCAL_ADDRESS] is sent as it stands, because Belfry has no placeholders"},
		{"https://x", "client: {tunnel: t}", "x: client.tunnel is not carried over: the check goes without it; run a worker behind it"},
		{"https://x", "client: {kerberos: {principal: p}}", "x: client.kerberos is not carried over: the request goes without its ticket, so that it may be refused"},
		{"https://x", "client: {identity-aware-proxy: {audience: a}}", "x: client.identity-aware-proxy is not carried over: the request goes without its token, so that it may be refused"},
		{"https://x", "client: {magic: 1}", "x: not carried over: client.magic"},
		{"https://x", "store: {a: b}", "x: not carried over: store"},
		{"icmp://x", "client: {proxy-url: \"http://p\"}", "x: client.proxy-url is not carried over: only HTTP goes through a proxy"},
		{"wss://x", "client: {insecure: true}", "x: client.insecure is not carried over: a check of this kind trusts certificates of known authorities alone; name another one as ca where it can be"},
		{"https://x/${A}", "", "x: url holds the variable A, whose value is not in the file: write it in, or fill in the file first (envsubst < config.yaml)"},
	} {
		r := read(t, intake.Gatus, endpoint(tc.url, "[CONNECTED] == true")+"    "+tc.more+"\n")
		if notes := r.Lines[0].Notes; len(notes) != 1 || notes[0] != tc.note || len(r.Manifest.Monitors) != 1 {
			t.Errorf("%s: %q", tc.more, notes)
		}
	}
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprintf("[BODY].a%d == b", i)
	}
	r := read(t, intake.Gatus, endpoint("https://x", many...))
	same(t, "many conditions", r.Lines[0].Notes, []string{"x: conditions[50] and those after it are not carried over: a monitor has at most 50"})
	r = read(t, intake.Gatus, "endpoints:\n  - {name: x, url: \"https://x\"}\n")
	same(t, "no condition", r.Lines[0].Notes, []string{"x: it has no conditions, which it needs there: it is up when it answers as Belfry takes for granted"})
}

// TestGatusVariables are filled in, or faults of their own endpoint.
func TestGatusVariables(t *testing.T) {
	config := `
alerting:
  slack:
    webhook-url: ${HOOK}
endpoints:
  - name: "${NAME}"
    url: https://${HOST}/$PATH_PART?price=5$$&k=${KEY}
    client: {proxy-url: "${PROXY}"}
    conditions: ["[STATUS] == ${CODE}"]
    headers: {X-Key: "${KEY}"}
  - {name: lost, url: "https://${MISSING}/", conditions: ["[STATUS] == 200"]}
  - {name: proxied, url: "https://example.com/", client: {proxy-url: "${NO_PROXY_URL}"}, conditions: ["[STATUS] == 200"]}
  - {name: plain, url: "https://example.com/", conditions: ["[STATUS] == 200"]}
`
	env := map[string]string{"NAME": "shop", "HOST": "shop.example.com", "PATH_PART": "a", "KEY": "x$y", "PROXY": "http://proxy:3128", "CODE": "204"}
	r, err := intake.Gatus(strings.NewReader(config), intake.Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "channel", r.Lines[0].Notes, []string{"slack: webhook-url is the variable HOOK, whose value is not in the file: set it in the environment or in a file (--env-file FILE), or write it into the channel, unless one of this name exists and has it"})
	var names []string
	for _, m := range r.Manifest.Monitors {
		names = append(names, m.Name)
	}
	same(t, "monitors", names, []string{"shop", "plain"})
	h := r.Manifest.Monitors[0].Check.HTTP
	same(t, "url", h.URL, "https://shop.example.com/a?price=5$&k=x$y")
	same(t, "proxy", h.Proxy, "http://proxy:3128")
	same(t, "header", h.Headers["X-Key"], "x$y")
	same(t, "status", h.ExpectStatus, []string{"204"})
	var faults []string
	for _, l := range r.Lines {
		if l.Err != nil {
			faults = append(faults, l.Err.Field+" "+l.Err.Message)
		}
	}
	same(t, "faults", faults, []string{
		"line 11, column 23, lost, url holds the variable MISSING, which has no value",
		"line 12, column 70, proxied, client.proxy-url holds the variable NO_PROXY_URL, which has no value",
	})
}

// TestGatusFiles are one configuration: an endpoint of one file tells a channel
// of another.
func TestGatusFiles(t *testing.T) {
	files := func(texts ...string) (list []intake.File) {
		for i, text := range texts {
			list = append(list, intake.File{Name: fmt.Sprintf("%d.yaml", i), Text: strings.NewReader(text)})
		}
		return list
	}
	r, err := intake.GatusFiles(files(
		"endpoints:\n  - {name: a, url: \"https://a.example\", conditions: [\"[STATUS] == 200\"], alerts: [{type: slack}]}\n",
		"alerting: {slack: {webhook-url: \"https://hooks.example.com/x\"}}\nmetrics: true\n",
		"endpoints:\n\n  - {name: b, url: \"magic://b\"}\n  - {name: a, url: \"icmp://https://192.0.2.1/x\", conditions: [\"[CONNECTED] == true\"]}\n",
		"a: [\n",
	), intake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range r.Lines {
		fault := ""
		if l.Err != nil {
			fault = " " + l.Err.Field
		}
		lines = append(lines, fmt.Sprintf("%s:%d %s%s%s", l.File, l.Number, l.Monitor, l.Channel, fault))
	}
	same(t, "lines", lines, []string{"0.yaml:2 a", "1.yaml:1 slack", "2.yaml:3  2.yaml, line 3, column 20, b, url", "2.yaml:4 a-2", "3.yaml:1  3.yaml, line 1, column 4"})
	same(t, "rules", len(r.Manifest.AlertRules), 1)
	same(t, "ping", r.Manifest.Monitors[1].Check.Ping.Host, "192.0.2.1")
	if _, err := intake.GatusFiles(files("x: 1\n", "y: 2\n"), intake.Options{}); core.CodeOf(err) != core.Invalid {
		t.Error(err)
	}
	if _, err := intake.GatusFiles(make([]intake.File, gatus.MaxFiles+1), intake.Options{}); core.CodeOf(err) != core.TooLarge {
		t.Error(err)
	}
}

// A small file must not make work or memory without end.
func TestGatusIsBounded(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	r := read(t, intake.Gatus, bomb)
	if l := r.Lines[0]; l.Err == nil || !strings.Contains(l.Err.Message, "alias more than can be followed") {
		t.Errorf("%+v", l)
	}
	long := "x-body: &b \"" + strings.Repeat("y", 200_000) + "\"\nendpoints:\n" + strings.Repeat("  - {name: x, url: \"https://x\", body: *b}\n", 200)
	r = read(t, intake.Gatus, long)
	if n := len(r.Manifest.Monitors); n == 0 || n > 100 {
		t.Errorf("%d monitors of a body that 200 share", n)
	}
	for _, tc := range []struct {
		text string
		code core.Code
	}{
		{strings.Repeat("#", intake.MaxSize+1), core.TooLarge},
		{"endpoints:\n" + strings.Repeat("- {}\n", intake.MaxLines+1), core.TooLarge},
		{"metrics: true\n", core.Invalid},
		{"", core.Invalid},
		{"a: \xff\n", core.Invalid},
	} {
		if _, err := intake.Gatus(strings.NewReader(tc.text), intake.Options{}); core.CodeOf(err) != tc.code {
			t.Errorf("%.20q: %v", tc.text, err)
		}
	}
}
