package condition_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func answer() *condition.Facts {
	return &condition.Facts{
		Status: 503, Latency: 812*time.Millisecond + 345*time.Microsecond, IP: "192.0.2.1", Redirects: 1, FinalURL: "https://example.com/",
		Phases:  task.Phases{DNS: core.Duration(2 * time.Millisecond)},
		Header:  http.Header{"Content-Type": {"application/json"}, "X-Two": {"a", "b"}},
		Body:    []byte(`{"items":[{"name":"pen","price":3},{"name":"ink","price":12.5}],"ok":true,"note":"5ms later"}`),
		CertEnd: now.Add(20*24*time.Hour + time.Hour),
	}
}

func judge(t *testing.T, kind task.Kind, f *condition.Facts, text string) task.ConditionResult {
	t.Helper()
	p, err := condition.Compile(kind, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p.Judge(condition.On(f, now))
}

func TestConditionsOfHTTP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, value string
		holds       bool
	}{
		{"status == 503", "status = 503", true},
		{"status == 200", "status = 503", false},
		{"status in [200, 503] and latency < 900ms", "status = 503, latency = 812ms", true},
		{"latency < 500ms", "latency = 812ms", false},
		{"latency < duration('1s')", "latency = 812ms", true},
		{"latency<1s and latency>0.5s and latency < 1m30s", "latency = 812ms", true},
		{"dns_time < 5ms && connect_time == 0s", "dns_time = 2ms, connect_time = 0s", true},
		{"header('content-type') contains 'json'", `header("content-type") = "application/json"`, true},
		{"header('X-Two') == 'a, b' and header('None') == ''", `header("X-Two") = "a, b", header("None") = ""`, true},
		{"body matches '(?i)PEN'", `body = "{\"items\":[{\"name\":\"pen\",\"price\":3},{\"name\":\"ink\",\"price\":12.5}],\"ok\":true,\"note\"…"`, true},
		{"body contains '5ms later'", "", true},
		{"len(body) > 50", "len(body) = 93", true},
		{"json.items[1].price > 12", "json.items[1].price = 12.5", true},
		{"json.ok", "json.ok = true", true},
		{"jq('.items[0].price') == 3", `jq(".items[0].price") = 3`, true},
		{"jq('.items | length') == 2", `jq(".items | length") = 2`, true},
		{`jq('.items[] | select(.name == "ink") | .price') >= 12.5`, "", true},
		{"jq('.missing') == nil", `jq(".missing") = nothing`, true},
		{"all(json.items, .price > 1)", "json.items = [{\"name\":\"pen\",\"price\":3},{\"name\":\"ink\",\"price\":12.5}]", true},
		{"any(json.items, {.price > 100})", "", false},
		{"count(json.items, #.price > 5) == 1", "", true},
		{"map(json.items, .name) == ['pen', 'ink']", "", true},
		{"cert_days == 20", "cert_days = 20", true},
		{"cert_days > 30 or redirects == 1", "cert_days = 20, redirects = 1", true},
		{"final_url startsWith 'https://'", `final_url = "https://example.com/"`, true},
		{"ip == '192.0.2.1'", `ip = "192.0.2.1"`, true},
		{"lower(header('Content-Type')) == 'application/' + 'json'", "", true},
		{"len(split(body, ',')) == 6", "", true},
		{"string(status) == '503'", "status = 503", true},
		{"let d = latency; d > 800ms and not (d > 900ms)", "latency = 812ms", true},
		{"json.items[0].price + json.items[1].price == 15.5", "", true},
		{"// a comment of 5ms\nstatus == 503", "status = 503", true},
	} {
		r := judge(t, task.KindHTTP, answer(), c.text)
		if r.Holds != c.holds || r.Error != "" || c.value != "" && r.Value != c.value || r.Text != c.text || r.Value == "" {
			t.Errorf("%s: %+v\nwant %v, %q", c.text, r, c.holds, c.value)
		}
	}
}

// TestBigIntegers are those from 2**63 on, such as unsigned counters.
func TestBigIntegers(t *testing.T) {
	t.Parallel()
	f := answer()
	f.Body = []byte(`{"n":18446744073709551615,"small":7}`)
	for text, holds := range map[string]bool{
		"json.n == 18446744073709551615":                                true,
		"json.n > 9223372036854775808":                                  true,
		"json.n > 9223372036854775807":                                  true,
		"json.n < 18_446_744_073_709_551_616_000":                       true,
		"json.small > -9223372036854775809":                             true,
		"json.small > 9223372036854775808":                              false,
		"json.small > 0.92233720368547758080":                           true,
		"json.small < 18446744073709551615.5 and status == 503":         true,
		"string(json.small) != '9223372036854775808' /* 2**63 or so */": true,
	} {
		if r := judge(t, task.KindHTTP, f, text); r.Holds != holds || r.Error != "" {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestConditionsOfOtherKinds(t *testing.T) {
	t.Parallel()
	f := &condition.Facts{
		Latency: time.Millisecond, Answers: []string{"192.0.2.1", "192.0.2.2"}, RCode: "NOERROR", TTL: 300,
		Loss: 33.3, RTT: 4 * time.Millisecond, Status: "SERVING", Body: []byte("220 ready"), CertEnd: now.Add(-time.Hour), TLS: "TLS 1.3",
	}
	for text, kind := range map[string]task.Kind{
		"'192.0.2.2' in answers and len(answers) == 2 and rcode == 'NOERROR' and ttl >= 60": task.KindDNS,
		"loss < 50 and rtt < 5ms":                      task.KindPing,
		"status == 'SERVING'":                          task.KindGRPC,
		"body startsWith '220'":                        task.KindTCP,
		"cert_days == -1 and tls_version == 'TLS 1.3'": task.KindTLS,
	} {
		if r := judge(t, kind, f, text); !r.Holds || r.Error != "" {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestConditionsThatDoNotCompileAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"status ==":                              "unexpected token EOF",
		"status = 200":                           "unexpected token",
		"stats == 200":                           "unknown name stats",
		"latency < 500":                          "mismatched types",
		"latency < '500ms'":                      "mismatched types",
		"status == '200'":                        "mismatched types",
		"status":                                 "expected bool",
		"body matches '('":                       "missing closing",
		"header(5) == ''":                        "cannot use int",
		"len(body, 2) == 0":                      "",
		"answers[0] == '1.2.3.4'":                "unknown name answers",
		"now().Year() > 2000":                    "unknown name now",
		"repeat('a', 9) == ''":                   "unknown name repeat",
		"fromJSON(body) == nil":                  "unknown name fromJSON",
		"jq('.a[') == 1":                         "jq .a[",
		"jq('range(9)') == 1":                    "more than a path",
		"jq('[repeat(1)]') == 1":                 "more than a path",
		"jq('env') == 1":                         "more than a path",
		"jq('input') == 1":                       "more than a path",
		"jq(`\"\\(.a)\"`) == 1":                  "more than a path",
		strings.Repeat("1+", 1000) + "1 > 1":     "nodes",
		strings.Repeat("(", 300) + "status == 1": "",
		strings.Repeat("a", 3000):                "is over 2048 bytes",
	} {
		_, err := condition.Compile(task.KindHTTP, text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

func TestConditionsOnMissingValuesFailWithAReason(t *testing.T) {
	t.Parallel()
	f := answer()
	f.CertEnd = time.Time{}
	html := answer()
	html.Body = []byte("<html>")
	big := answer()
	big.Body = make([]byte, condition.MaxJSON+1)
	for _, c := range []struct {
		f          *condition.Facts
		text, want string
	}{
		{f, "cert_days > 5", "no certificate was seen"},
		{f, "json.items[7].price > 1", "index out of range"},
		{f, "json.none.deeper > 1", "cannot fetch deeper"},
		{f, "json.note > 1", "invalid operation"},
		{f, "json.items", "invalid operation: bool"},
		{f, "jq('.note | tonumber') > 1", "jq .note"},
		{f, "json[body] == 1", ""},
		{html, "json.ok", "the body is not JSON"},
		{html, "jq('.ok')", "the body is not JSON"},
		{big, "json.ok", "over the limit"},
	} {
		r := judge(t, task.KindHTTP, c.f, c.text)
		if r.Holds || c.want != "" && !strings.Contains(r.Error, c.want) || strings.Contains(r.Error, "\n") {
			t.Errorf("%s: %+v, want %q", c.text, r, c.want)
		}
	}
	if r := judge(t, task.KindHTTP, html, "status == 503"); !r.Holds {
		t.Errorf("a body that is not JSON is none of a condition's business that does not ask: %+v", r)
	}
}

// Nothing that fits into a condition may take the worker's time or memory.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	f := answer()
	f.Body = []byte("[" + strings.Repeat("1,", 200_000) + "1]")
	for _, text := range []string{
		"all(json, all(json, all(json, true)))",
		"len(map(1..100000, map(1..100000, #))) > 0",
		"all(1..1000, all(1..1000, all(1..1000, body contains 'x' or true)))",
		"let a = body + body; let b = a + a; let c = b + b; let d = c + c; let e = d + d; let f = e + e; let g = f + f; let h = g + g; let i = h + h; let j = i + i; len(j) > 0",
		"len(map(1..100000, split(body, ''))) > 0",
		"len(map(1..100000, upper(body))) > 0",
		"len(map(1..100000, string(json))) > 0",
		"len(map(json, map(json, #))) > 0",
		"all(1..100000, jq('.[] | select(. == 2)') == nil)",
		"count(json, body matches string(#) + 'y') > 0",
	} {
		r := judge(t, task.KindHTTP, f, text)
		if r.Holds || !strings.Contains(r.Error, "too much work") && !strings.Contains(r.Error, "memory budget") {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestLengthsAreSpelledOutsideOfStringsOnly(t *testing.T) {
	t.Parallel()
	f := answer()
	f.Body = []byte(`a "5ms" b`)
	for _, text := range []string{
		"body contains '5ms'", "body contains \"\\\"5ms\\\"\"", "body contains `\"5ms\"`", "/* 5ms */ latency > 5ms", `body != 'it\'s 5ms'`,
	} {
		if r := judge(t, task.KindHTTP, f, text); !r.Holds {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestVetNamesTheField(t *testing.T) {
	t.Parallel()
	faults := condition.Vet(task.Task{Kind: task.KindPing, Conditions: []string{"loss < 50", "stauts == 1"}, Warnings: []string{"rtt <"}})
	if len(faults) != 2 || faults[0].Field != "conditions[1]" || faults[1].Field != "warnings[0]" || !strings.Contains(faults[0].Hint, "kind ping has dns_time, ip, latency, loss") {
		t.Errorf("%+v", faults)
	}
}

func TestVetSaysWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"status = 200":            "to compare, write ==; kind http has ",
		"latency < 300":           "a length of time has a unit, such as 300ms; kind http has ",
		"300 > latency":           "a length of time has a unit, such as 300ms; kind http has ",
		"latncy < 300ms":          "did you mean latency? kind http has ",
		"json.status == paused":   `a text is written in quotes: "paused"; kind http has `,
		`header["Server"] == "x"`: `it is called with the name, such as header("Content-Type"); kind http has `,
		"status <":                "kind http has ",
	} {
		faults := condition.Vet(task.Task{Kind: task.KindHTTP, Conditions: []string{text}})
		if len(faults) != 1 || !strings.HasPrefix(faults[0].Hint, want) {
			t.Errorf("%s: %+v", text, faults)
		}
	}
}

func TestProgramsAreKept(t *testing.T) {
	t.Parallel()
	a, err := condition.Get(task.KindHTTP, "status == 299")
	b, _ := condition.Get(task.KindHTTP, "status == 299")
	if err != nil || a != b {
		t.Error("compiled twice", err)
	}
}

// Whatever is written, it is refused, or judged without a panic.
func FuzzCondition(f *testing.F) {
	for _, text := range []string{"status == 200", "latency < 500ms", "json.items[0].price > 1", "all(json.items, .price > 0)", "jq('.a') == nil", "body matches 'x'", "let a = 1; a > 5ms"} {
		f.Add(text)
	}
	facts := answer()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := condition.Compile(task.KindHTTP, text)
		if err != nil {
			return
		}
		if r := p.Judge(condition.On(facts, now)); r.Text != text || len(r.Value) > 500 || len(r.Error) > 500 {
			t.Errorf("%+v", r)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	p, err := condition.Compile(task.KindHTTP, "status in [200, 503] and latency < 900ms and body contains 'pen'")
	if err != nil {
		b.Fatal(err)
	}
	f := answer()
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(condition.On(f, now))
	}
}
