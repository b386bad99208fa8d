package intake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/intake"
	"github.com/belfry-run/belfry/core"
)

// kumaMonitor is a backup with one monitor, which has what is usual but for
// the given fields.
func kumaMonitor(t *testing.T, kind string, fields string) string {
	t.Helper()
	m := map[string]any{
		"id": 1, "name": "X", "type": kind, "url": "https://x.example.com", "hostname": "x.example.com", "port": 5432, "interval": 60,
		"retryInterval": 60, "maxretries": 0, "active": true, "accepted_statuscodes": []string{"200-299"}, "maxredirects": 10,
	}
	var more map[string]any
	if err := json.Unmarshal([]byte("{"+fields+"}"), &more); err != nil {
		t.Fatal(err)
	}
	for k, v := range more {
		m[k] = v
	}
	text, err := json.Marshal(map[string]any{"monitorList": []any{m}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKumaMonitors(t *testing.T) {
	for _, tc := range []struct{ kind, fields, want string }{
		{"http", ``, `{"url":"https://x.example.com"}`},
		{"http", `"url": "https://u:p@x.example.com/"`, `{"url":"https://x.example.com/","auth":{"user":"u","password":"p"}}`},
		{"http", `"headers": "{\"authorization\": \"Bearer t\"}"`, `{"url":"https://x.example.com","auth":{"bearer":"t"}}`},
		{"http", `"headers": "{\"Authorization\": \"Basic dTpw\"}"`, `{"url":"https://x.example.com","auth":{"user":"u","password":"p"}}`},
		{"http", `"headers": "{\"Authorization\": \"Digest x\"}"`, `{"headers":{"Authorization":"Digest x"},"url":"https://x.example.com"}`},
		{"http", `"accepted_statuscodes_json": "", "accepted_statuscodes": "[\"200\", \"404\"]"`, `{"url":"https://x.example.com","expect_status":["200","404"]}`},
		{"http", `"method": "HEAD", "maxredirects": 3, "ignoreTls": 1`, `{"method":"HEAD","url":"https://x.example.com","skip_verify":true,"max_redirects":3}`},
		{"http", `"method": "POST", "body": "<a/>", "httpBodyEncoding": "xml"`, `{"method":"POST","url":"https://x.example.com","headers":{"Content-Type":"text/xml; charset=utf-8"},"body":"<a/>"}`},
		{"port", ``, `{"address":"x.example.com:5432"}`},
		{"port", `"hostname": "2001:db8::1"`, `{"address":"[2001:db8::1]:5432"}`},
		{"ping", `"hostname": "https://192.0.2.7:443/x"`, `{"host":"192.0.2.7","count":1}`},
		{"ping", `"ping_count": 5`, `{"host":"x.example.com","count":5}`},
		{"dns", `"port": 53, "dns_resolve_server": "1.1.1.1", "dns_resolve_type": "AAAA"`, `{"name":"x.example.com","type":"AAAA","server":"1.1.1.1"}`},
		{"grpc-keyword", `"grpcUrl": "x:1", "grpcServiceName": "grpc.health.v1.Health", "grpcEnableTls": false`, `{"address":"x:1","plaintext":true}`},
		{"websocket-upgrade", `"url": "ws://x"`, `{"url":"ws://x"}`},
	} {
		r := read(t, intake.Kuma, kumaMonitor(t, tc.kind, tc.fields))
		if len(r.Manifest.Monitors) != 1 {
			t.Errorf("%s %s: %+v", tc.kind, tc.fields, r.Lines)
			continue
		}
		c := r.Manifest.Monitors[0].Check
		for _, is := range []any{c.HTTP, c.TCP, c.Ping, c.DNS, c.GRPC, c.WebSocket} {
			if text := asJSON(is); text != "null" && asJSON(asMap(t, text)) != asJSON(asMap(t, tc.want)) {
				t.Errorf("%s %s: %s, want %s", tc.kind, tc.fields, text, tc.want)
			}
		}
	}
}

func asMap(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestKumaConditions(t *testing.T) {
	for _, tc := range []struct{ kind, fields, want, note string }{
		{"keyword", `"keyword": "ok"`, "body contains 'ok'", ""},
		{"keyword", `"keyword": "ok", "invertKeyword": true`, "not (body contains 'ok')", ""},
		{"json-query", `"jsonPath": "$", "expectedValue": "up"`, "jq('.') == 'up'", ""},
		{"json-query", `"jsonPath": "$.a[0].b", "expectedValue": "1"`, "jq('.a[0].b | tostring') == '1'", ""},
		{"json-query", "\"jsonPath\": \"a.`my key`\", \"expectedValue\": \"x\"", "", "is more than a path"},
		{"json-query", `"jsonPath": "a", "jsonPathOperator": "!=", "expectedValue": "x"`, "jq('.a') != 'x'", ""},
		{"json-query", `"jsonPath": "a", "jsonPathOperator": "contains", "expectedValue": "x"`, "jq('.a | tostring') contains 'x'", ""},
		{"json-query", `"jsonPath": "a", "jsonPathOperator": ">=", "expectedValue": "1.5"`, "jq('.a | tonumber? // 0') >= 1.5", ""},
		{"json-query", `"jsonPath": "a", "jsonPathOperator": ">=", "expectedValue": "much"`, "", "is ordered with what is not a number"},
		{"json-query", `"jsonPath": "a", "jsonPathOperator": "~", "expectedValue": "x"`, "", "has an operator that is not known"},
	} {
		r := read(t, intake.Kuma, kumaMonitor(t, tc.kind, tc.fields))
		if len(r.Manifest.Monitors) != 1 {
			t.Errorf("%s: %+v", tc.fields, r.Lines)
			continue
		}
		got, notes := strings.Join(r.Manifest.Monitors[0].Check.Conditions, " AND "), strings.Join(r.Lines[0].Notes, "\n")
		if got != tc.want || (tc.note == "") != (notes == "") || !strings.Contains(notes, tc.note) {
			t.Errorf("%s: %s %q, want %s %q", tc.fields, got, notes, tc.want, tc.note)
		}
	}
}

func TestKumaLeftOut(t *testing.T) {
	for _, tc := range []struct{ kind, fields, field, message string }{
		{"", ``, "X, type", "is missing"},
		{"mqtt", ``, "X, type", "is a kind of monitor that Belfry does not have"},
		{"tailscale-ping", ``, "X, type", "is a kind of monitor that Belfry does not have"},
		{"real-browser", ``, "X, type", "is a kind of monitor that Belfry does not have"},
		{"http", `"interval": "often"`, "X, interval", "is not a number of seconds"},
		{"http", `"interval": 0.1`, "X, every", "is outside"},
		{"http", `"url": "ftp://x"`, "X, check.http.url", "is neither http nor https"},
		{"http", `"authMethod": "mtls"`, "", ""}, // asks as nobody, which is what it did
		{"http", `"authMethod": "mtls", "tlsCert": "a"`, "X, check.http.auth.cert", "and key belong together"},
		{"keyword", `"keyword": "` + strings.Repeat("x", 3000) + `"`, "X, keyword", "is too long for a condition"},
		{"ping", `"hostname": ""`, "X, check.ping.host", "is not a host"},
	} {
		r := read(t, intake.Kuma, kumaMonitor(t, tc.kind, tc.fields))
		l := r.Lines[0]
		if tc.message == "" {
			if l.Err != nil {
				t.Errorf("%s: %v", tc.fields, l.Err)
			}
			continue
		}
		if l.Err == nil || !strings.HasSuffix(l.Err.Field, tc.field) || !strings.Contains(l.Err.Message, tc.message) {
			t.Errorf("%s %s: %+v, want %s %s", tc.kind, tc.fields, l.Err, tc.field, tc.message)
		}
	}
}

func TestKumaNotifications(t *testing.T) {
	for _, tc := range []struct{ config, want, note string }{
		{`{"type": "mattermost", "mattermostWebhookUrl": "https://m"}`, `"slack":{"url":"https://m"}`, ""},
		{`{"type": "rocket.chat", "rocketwebhookURL": "https://m"}`, `"slack":{"url":"https://m"}`, ""},
		{`{"type": "ntfy", "ntfyserverurl": "https://n/", "ntfytopic": "t", "ntfyAuthenticationMethod": "accessToken", "ntfyaccesstoken": "k"}`, `"ntfy":{"server":"https://n","topic":"t","token":"k"}`, ""},
		{`{"type": "matrix", "homeserverUrl": "https://m/", "internalRoomId": "!a:m", "accessToken": "k"}`, `"matrix":{"server":"https://m","room":"!a:m","token":"k"}`, ""},
		{`{"type": "gotify", "gotifyserverurl": "https://g/", "gotifyapplicationToken": "k", "gotifyPriority": 8}`, `"gotify":{"server":"https://g","token":"k"}`, "gotifyPriority is not carried over"},
		{`{"type": "PagerDuty", "pagerdutyIntegrationKey": "k", "pagerdutyIntegrationUrl": "https://events.eu.pagerduty.com/v2/enqueue"}`, `"pagerduty":{"routing_key":"k","api":"https://events.eu.pagerduty.com"}`, "an outage that is over is resolved in PagerDuty, which was not so there"},
		{`{"type": "smtp", "smtpHost": "h", "smtpPort": 25, "smtpIgnoreSTARTTLS": true, "smtpFrom": "a@b.c", "smtpTo": "d@e.f, g@h.i"}`, `"email":{"host":"h","port":25,"tls":"none","from":"a@b.c","to":["d@e.f","g@h.i"]}`, ""},
		{`{"type": "webhook", "webhookURL": "https://h", "webhookAdditionalHeaders": "x"}`, `"webhook":{"url":"https://h"}`, "webhookAdditionalHeaders are not carried over: they are not a JSON object"},
		{`{"type": "telegram", "telegramBotToken": " 1:a ", "telegramChatID": "@ops", "telegramServerUrl": "https://t/"}`, `"telegram":{"token":"1:a","chat":"@ops","api":"https://t"}`, ""},
		{`{"type": "discord", "discordWebhookUrl": "here"}`, "", "nothing is sent through N, which could not be carried over"},
		{`nonsense`, "", "nothing is sent through N, which could not be carried over"},
	} {
		backup, err := json.Marshal(map[string]any{
			"notificationList": []any{map[string]any{"id": 7, "name": "N", "active": 1, "config": tc.config}},
			"monitorList":      []any{map[string]any{"id": 1, "name": "X", "type": "http", "url": "https://x", "notificationIDList": []any{7, 7}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := read(t, intake.Kuma, string(backup))
		var notes []string
		for _, l := range r.Lines {
			notes = append(notes, l.Notes...)
		}
		if tc.note != "" && !strings.Contains(strings.Join(notes, "\n"), tc.note) {
			t.Errorf("%s: %q", tc.config, notes)
		}
		if tc.want == "" {
			if len(r.Manifest.Channels)+len(r.Manifest.AlertRules) > 0 {
				t.Errorf("%s: %+v", tc.config, r.Manifest)
			}
			continue
		}
		if len(r.Manifest.Channels) != 1 || !strings.Contains(asJSON(r.Manifest.Channels[0]), tc.want) || len(r.Manifest.AlertRules) != 1 {
			t.Errorf("%s: %s", tc.config, asJSON(r.Manifest))
		}
	}
}

// Groups are tags, also those in groups, and a circle of them is none.
func TestKumaGroups(t *testing.T) {
	r := read(t, intake.Kuma, `{"monitorList": [
		{"id": 1, "name": "Europe", "type": "group", "parent": 2}, {"id": 2, "name": "World", "type": "group", "parent": 1},
		{"id": 3, "name": "Web", "type": "http", "url": "https://x", "parent": 1}, {"id": 4, "name": "Web", "type": "http", "url": "https://y", "parent": 1},
		{"id": 5, "name": "Web", "type": "http", "url": "https://z", "parent": 3}]}`)
	var got []string
	for _, m := range r.Manifest.Monitors {
		got = append(got, fmt.Sprint(m.Name, m.Tags))
	}
	same(t, "groups", got, []string{"web[europe world]", "europe-web[europe world]", "web-2[]"})
}

func TestKumaFaultsOfTheFile(t *testing.T) {
	for _, tc := range []struct {
		text, message string
		code          core.Code
	}{
		{"", "it ends in the middle", core.Invalid},
		{`{"monitorList": [`, "it ends in the middle", core.Invalid},
		{"{\n  \"a\": tru }", "line 2, column 8", core.Invalid},
		{`{} {}`, "is more than one JSON value", core.Invalid},
		{`{"a": "\u0000"}`, "has a NUL character", core.Invalid},
		{strings.Repeat("[", 100), "is nested more than 64 levels deep", core.Invalid},
		{`{}`, "holds no monitor", core.Invalid},
		{`[1, "x", {"name": "x"}]`, "holds no monitor", core.Invalid},
		{strings.Repeat(" ", intake.MaxBackup+1), "has more than", core.TooLarge},
		{`[` + strings.Repeat(`{"type":"x","name":"y"},`, intake.MaxLines) + `{"type":"x","name":"y"}]`, "has more than 10000 monitors", core.TooLarge},
	} {
		_, err := intake.Kuma(strings.NewReader(tc.text), intake.Options{})
		if core.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%.30q: %v, want %s", tc.text, err, tc.message)
		}
	}
}

// A name that Belfry does not take is the title of what it became.
func TestKumaNamesAreTitles(t *testing.T) {
	for name, want := range map[string][3]string{
		"shop":             {"shop", "", "what it is"},
		"Shop (EU)":        {"shop-eu", "Shop (EU)", "what it is"},
		"Магазин":          {"x.example.com", "Магазин", "what it is"},
		"a \u202e b\n\x01": {"a-b", "a  b", "what it is"},
	} {
		m := read(t, intake.Kuma, kumaMonitor(t, "http", asJSON(map[string]any{"name": name, "description": "what it is"})[1:len(asJSON(map[string]any{"name": name, "description": "what it is"}))-1])).Manifest.Monitors[0]
		if got := [3]string{m.Name, m.Title, m.Description}; got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
