package intake

import (
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/expr"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// check is what a monitor looks at.
func (k *kuma) check(e *entry, t *tree, kind string) task.Task {
	tk := task.Task{Timeout: k.timeout(e, t)}
	host := t.get("hostname").text
	switch kind {
	case "http", "keyword", "json-query":
		tk.HTTP = k.http(e, t)
		tk.Conditions = k.judge(e, t, kind)
	case "port":
		tk.TCP = &task.TCP{Address: k.address(t, "")}
	case "ping":
		tk.Ping = &task.Ping{Host: pinged(host), Count: min(max(whole(t.get("ping_count"), 1), 1), 20)}
	case "dns":
		tk.DNS = k.dns(e, t)
	case "grpc-keyword":
		tk.GRPC = k.grpc(e, t)
	case "websocket-upgrade":
		tk.WebSocket = &task.WebSocket{URL: t.get("url").text}
	case "":
		e.fault(t.at, "type", "", "is missing", "")
	default:
		e.fault(t.get("type").at, "type", kind, "is a kind of monitor that Belfry does not have", hintFor(kind))
	}
	return tk
}

// hintFor says what comes nearest to a kind that Belfry does not have.
func hintFor(kind string) string {
	switch kind {
	case "docker":
		return "watch what the container serves, or let a command ask docker and call a heartbeat"
	case "sqlserver", "postgres", "mysql", "mongodb", "redis", "mqtt", "kafka-producer", "rabbitmq", "smtp", "radius", "snmp", "steam", "gamedig":
		return "a tcp check of its port sees that it answers; a command that calls a heartbeat can do more"
	case "real-browser":
		return "an http check with a condition on the body sees what the server says"
	}
	return "a command that calls a heartbeat can do it"
}

// timeout is how long a check may take: in old versions it is four fifths of
// the interval.
func (k *kuma) timeout(e *entry, t *tree) core.Duration {
	every := k.seconds(e, t, "interval", 60)
	d := k.seconds(e, t, "timeout", every.D().Seconds()*0.8)
	if d > monitor.MaxCheckTimeout {
		e.notef("its timeout is %s, which Belfry takes as %s", d, monitor.MaxCheckTimeout)
		d = monitor.MaxCheckTimeout
	}
	return d
}

func (k *kuma) address(t *tree, otherwise string) string {
	return net.JoinHostPort(strings.Trim(t.get("hostname").text, "[]"), orWord(t.get("port").text, otherwise))
}

func (k *kuma) http(e *entry, t *tree) *task.HTTP {
	h := &task.HTTP{
		Method: strings.ToUpper(t.get("method").text), Body: t.get("body").text, SkipVerify: isTrue(t.get("ignoreTls")),
		MaxRedirects: whole(t.get("maxredirects"), task.DefaultMaxRedirects),
	}
	h.URL, h.Auth = splitUser(t.get("url").text)
	switch h.MaxRedirects { // what Belfry takes for granted need not be said
	case 0:
		h.MaxRedirects = -1
	case task.DefaultMaxRedirects:
		h.MaxRedirects = 0
	}
	if h.Method == "GET" {
		h.Method = ""
	}
	if h.MaxRedirects > 50 {
		e.notef("maxredirects is %d, which Belfry takes as 50", h.MaxRedirects)
		h.MaxRedirects = 50
	}
	h.ExpectStatus = k.statuses(e, t)
	k.headers(e, t, h)
	k.auth(e, t, h)
	h.Proxy = k.proxy(e, t)
	if isTrue(t.get("cacheBust")) {
		e.notef("cacheBust is not carried over: the URL is asked for as it is")
	}
	switch family := t.get("ipFamily").text; family {
	case "ipv4", "ipv6":
		h.Family = task.IPFamily(family)
	}
	return h
}

// statuses are the codes that are right.
func (k *kuma) statuses(e *entry, t *tree) []string {
	given := t.get("accepted_statuscodes")
	if given.kind == scalar { // as the database has them
		given = readInnerJSON(given.text, given.at)
	}
	var list []string
	if given == nil {
		return nil
	}
	for _, code := range given.list {
		text := strings.ReplaceAll(code.text, " ", "")
		if _, err := task.ParseStatusRanges([]string{text}); err != nil {
			e.notef("accepted_statuscodes: %q is not carried over: it is no code or range", clip(code.text))
			continue
		}
		list = append(list, text)
	}
	if slices.Equal(list, []string{"200-299"}) {
		return nil
	}
	return list
}

// headers are a text of JSON in the backup.
func (k *kuma) headers(e *entry, t *tree, h *task.HTTP) {
	given := t.get("headers")
	if given.kind == scalar && strings.TrimSpace(given.text) != "" {
		parsed := readInnerJSON(given.text, given.at)
		if parsed == nil || parsed.kind != mapping {
			e.notef("headers are not carried over: they are not a JSON object")
			parsed = &tree{}
		}
		given = parsed
	}
	for _, name := range given.keys {
		h.Headers = withHeader(h.Headers, name, given.table[name].text)
	}
	if h.Body != "" {
		kinds := map[string]string{"form": "application/x-www-form-urlencoded", "xml": "text/xml; charset=utf-8"}
		h.Headers = withHeader(h.Headers, "Content-Type", orWord(kinds[t.get("httpBodyEncoding").text], "application/json"))
	}
	authorize(h)
}

// auth is who asks. Old versions have no method, and a user when there is one.
func (k *kuma) auth(e *entry, t *tree, h *task.HTTP) {
	user, password := t.get("basic_auth_user").text, core.Secret(t.get("basic_auth_pass").text)
	switch method := t.get("authMethod").text; method {
	case "", "null", "basic":
		if user != "" {
			h.Auth = &task.HTTPAuth{User: user, Password: password}
		}
	case "mtls":
		a := task.HTTPAuth{}
		if h.Auth != nil {
			a = *h.Auth
		}
		a.Cert, a.Key = t.get("tlsCert").text, core.Secret(t.get("tlsKey").text)
		if h.CA = t.get("tlsCa").text; a != (task.HTTPAuth{}) {
			h.Auth = &a
		}
	case "bearer":
		h.Auth = &task.HTTPAuth{Bearer: core.Secret(orWord(t.get("bearerToken").text, t.get("bearer_token").text))}
	default:
		e.notef("authMethod %s is not carried over: the request goes without it, so that it may be refused", clip(method))
	}
}

func (k *kuma) proxy(e *entry, t *tree) string {
	id := t.get("proxyId").text
	if id == "" {
		return ""
	}
	p := k.proxies[id]
	switch {
	case p == nil:
		e.notef("its proxy %s is not in the file: write its URL into the check, as proxy", clip(id))
	case p.get("active").kind == scalar && !isTrue(p.get("active")):
	case p.get("protocol").text != "http" && p.get("protocol").text != "https":
		e.notef("its proxy speaks %s, and Belfry goes through proxies of HTTP alone: the request goes without it", clip(p.get("protocol").text))
	default:
		if isTrue(p.get("auth")) {
			e.notef("its proxy is carried over without its user and password, which a proxy of Belfry does not have")
		}
		return p.get("protocol").text + "://" + net.JoinHostPort(strings.Trim(p.get("host").text, "[]"), p.get("port").text)
	}
	return ""
}

// judge is what must be in an answer.
func (k *kuma) judge(e *entry, t *tree, kind string) []string {
	var list []string
	switch kind {
	case "keyword":
		test := "body contains " + expr.Quote(t.get("keyword").text)
		if isTrue(t.get("invertKeyword")) {
			test = "not (" + test + ")"
		}
		list = append(list, test)
	case "json-query":
		if test, why := jsonQuery(t); why == "" {
			list = append(list, test)
		} else {
			e.notef("jsonPath %q is not carried over: it %s; write a condition with jq", clip(t.get("jsonPath").text), why)
		}
	}
	for i, test := range list {
		if len(test) > task.MaxCondition {
			e.fault(t.at, "keyword", "", "is too long for a condition", "")
			list[i] = "true"
		}
	}
	return list
}

// jsonQuery writes a path in JSONata as one of jq, where it is no more than a
// path, and compares as Uptime Kuma does: as text, or as numbers.
func jsonQuery(t *tree) (test, why string) {
	path, want := strings.TrimSpace(t.get("jsonPath").text), t.get("expectedValue").text
	path = strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
	jq := "."
	if path != "" {
		var ok bool
		if jq, ok = expr.Path(strings.ReplaceAll(path, "`", "")); !ok {
			return "", "is more than a path"
		}
	}
	switch op := orWord(t.get("jsonPathOperator").text, "=="); op {
	case "==", "!=":
		return expr.Value(jq, want) + " " + op + " " + expr.Quote(want), ""
	case "contains":
		return expr.Text(jq) + " contains " + expr.Quote(want), ""
	case "<", "<=", ">", ">=":
		if !numberRule.MatchString(want) {
			return "", "is ordered with what is not a number"
		}
		return expr.Number(jq) + " " + op + " " + want, ""
	}
	return "", "has an operator that is not known"
}

var numberRule = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$`)

func (k *kuma) dns(e *entry, t *tree) *task.DNS {
	d := &task.DNS{Name: strings.TrimSuffix(t.get("hostname").text, "."), Type: strings.ToUpper(t.get("dns_resolve_type").text)}
	server, more, _ := strings.Cut(t.get("dns_resolve_server").text, ",")
	if strings.TrimSpace(more) != "" {
		e.notef("of its name servers the first is asked")
	}
	if d.Server = strings.TrimSpace(server); d.Server != "" {
		if port := t.get("port").text; port != "" && port != "53" {
			d.Server = net.JoinHostPort(strings.Trim(d.Server, "[]"), port)
		}
	}
	given := t.get("conditions")
	if given.kind == scalar && given.text != "" {
		given = readInnerJSON(given.text, given.at)
	}
	if given == nil {
		return d
	}
	for i, c := range given.list {
		if c.get("variable").text == "record" && c.get("operator").text == "equals" && (i == 0 || c.get("andOr").text == "and") {
			d.Expect = append(d.Expect, c.get("value").text)
			continue
		}
		e.notef("%s is not carried over: it is not that a record equals a text; write a condition with answers", numbered("conditions", i))
	}
	return d
}

// grpc asks the health service, which is the one that Belfry knows.
func (k *kuma) grpc(e *entry, t *tree) *task.GRPC {
	if name := t.get("grpcServiceName").text; !strings.HasSuffix(strings.ToLower(name), "health") {
		e.fault(t.get("grpcServiceName").at, "grpcServiceName", name, "is not the health service, which is the one that Belfry asks", "let a command ask it and call a heartbeat")
	}
	address := t.get("grpcUrl").text
	if _, rest, hasScheme := strings.Cut(address, "://"); hasScheme {
		address = rest
	}
	if e.Err == nil {
		e.notef("it is up when its health service says SERVING; the keyword is not looked for")
	}
	return &task.GRPC{Address: strings.TrimSuffix(address, "/"), Plaintext: !isTrue(t.get("grpcEnableTls")), SkipVerify: isTrue(t.get("grpcEnableTls")) && isTrue(t.get("ignoreTls"))}
}

// pinged is the host of what is to be pinged, which some write as a URL.
func pinged(text string) string {
	if _, rest, isURL := strings.Cut(text, "://"); isURL {
		text = hostOf("http://" + rest)
	}
	return strings.Trim(text, "[]")
}
