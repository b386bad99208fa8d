package kuma

import (
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/expr"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// check is the check of a monitor.
func (k *kuma) check(e *base.Entry, t *tree.Tree, kind string) task.Task {
	tk := task.Task{Timeout: k.timeout(e, t)}
	host := t.Get("hostname").Text
	switch kind {
	case "http", "keyword", "json-query":
		tk.HTTP = k.http(e, t)
		tk.Conditions = k.judge(e, t, kind)
	case "port":
		tk.TCP = &task.TCP{Address: k.address(t, "")}
	case "ping":
		tk.Ping = &task.Ping{Host: base.Pinged(host), Count: min(max(base.Whole(t.Get("ping_count"), 1), 1), 20)}
	case "dns":
		tk.DNS = k.dns(e, t)
	case "grpc-keyword":
		tk.GRPC = k.grpc(e, t)
	case "websocket-upgrade":
		tk.WebSocket = &task.WebSocket{URL: t.Get("url").Text}
	case "":
		e.Fault(t.At, "type", "", "is missing", "")
	default:
		e.Fault(t.Get("type").At, "type", kind, "is a kind of monitor that Belfry does not have", hintFor(kind))
	}
	return tk
}

// hintFor returns the nearest equivalent of a kind that Belfry does not have.
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
func (k *kuma) timeout(e *base.Entry, t *tree.Tree) core.Duration {
	every := k.seconds(e, t, "interval", 60)
	d := k.seconds(e, t, "timeout", every.D().Seconds()*0.8)
	if d > monitor.MaxCheckTimeout {
		e.Notef("its timeout is %s, which Belfry takes as %s", d, monitor.MaxCheckTimeout)
		d = monitor.MaxCheckTimeout
	}
	return d
}

func (k *kuma) address(t *tree.Tree, otherwise string) string {
	return net.JoinHostPort(strings.Trim(t.Get("hostname").Text, "[]"), base.OrWord(t.Get("port").Text, otherwise))
}

func (k *kuma) http(e *base.Entry, t *tree.Tree) *task.HTTP {
	h := &task.HTTP{
		Method: strings.ToUpper(t.Get("method").Text), Body: t.Get("body").Text, SkipVerify: base.IsTrue(t.Get("ignoreTls")),
		MaxRedirects: base.Whole(t.Get("maxredirects"), task.DefaultMaxRedirects),
	}
	h.URL, h.Auth = base.SplitUser(t.Get("url").Text)
	switch h.MaxRedirects { // the default of Belfry needs no setting
	case 0:
		h.MaxRedirects = -1
	case task.DefaultMaxRedirects:
		h.MaxRedirects = 0
	}
	if h.Method == "GET" {
		h.Method = ""
	}
	if h.MaxRedirects > 50 {
		e.Notef("maxredirects is %d, which Belfry takes as 50", h.MaxRedirects)
		h.MaxRedirects = 50
	}
	h.ExpectStatus = k.statuses(e, t)
	k.headers(e, t, h)
	k.auth(e, t, h)
	h.Proxy = k.proxy(e, t)
	if base.IsTrue(t.Get("cacheBust")) {
		e.Notef("cacheBust is not carried over: the URL is asked for as it is")
	}
	switch family := t.Get("ipFamily").Text; family {
	case "ipv4", "ipv6":
		h.Family = task.IPFamily(family)
	}
	return h
}

// statuses are the codes that are right.
func (k *kuma) statuses(e *base.Entry, t *tree.Tree) []string {
	given := t.Get("accepted_statuscodes")
	if given.Kind == tree.Scalar { // as the database has them
		given = tree.ReadInnerJSON(given.Text, given.At)
	}
	var list []string
	if given == nil {
		return nil
	}
	for _, code := range given.List {
		text := strings.ReplaceAll(code.Text, " ", "")
		if _, err := task.ParseStatusRanges([]string{text}); err != nil {
			e.Notef("accepted_statuscodes: %q is not carried over: it is no code or range", base.Clip(code.Text))
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
func (k *kuma) headers(e *base.Entry, t *tree.Tree, h *task.HTTP) {
	given := t.Get("headers")
	if given.Kind == tree.Scalar && strings.TrimSpace(given.Text) != "" {
		parsed := tree.ReadInnerJSON(given.Text, given.At)
		if parsed == nil || parsed.Kind != tree.Mapping {
			e.Notef("headers are not carried over: they are not a JSON object")
			parsed = &tree.Tree{}
		}
		given = parsed
	}
	for _, name := range given.Keys {
		h.Headers = base.WithHeader(h.Headers, name, given.Table[name].Text)
	}
	if h.Body != "" {
		kinds := map[string]string{"form": "application/x-www-form-urlencoded", "xml": "text/xml; charset=utf-8"}
		h.Headers = base.WithHeader(h.Headers, "Content-Type", base.OrWord(kinds[t.Get("httpBodyEncoding").Text], "application/json"))
	}
	base.Authorize(h)
}

// auth reads the credentials. Old versions have no method, and a user if there are any.
func (k *kuma) auth(e *base.Entry, t *tree.Tree, h *task.HTTP) {
	user, password := t.Get("basic_auth_user").Text, core.Secret(t.Get("basic_auth_pass").Text)
	switch method := t.Get("authMethod").Text; method {
	case "", "null", "basic":
		if user != "" {
			h.Auth = &task.HTTPAuth{User: user, Password: password}
		}
	case "mtls":
		a := task.HTTPAuth{}
		if h.Auth != nil {
			a = *h.Auth
		}
		a.Cert, a.Key = t.Get("tlsCert").Text, core.Secret(t.Get("tlsKey").Text)
		if h.CA = t.Get("tlsCa").Text; a != (task.HTTPAuth{}) {
			h.Auth = &a
		}
	case "bearer":
		h.Auth = &task.HTTPAuth{Bearer: core.Secret(base.OrWord(t.Get("bearerToken").Text, t.Get("bearer_token").Text))}
	default:
		e.Notef("authMethod %s is not carried over: the request goes without it, so that it may be refused", base.Clip(method))
	}
}

func (k *kuma) proxy(e *base.Entry, t *tree.Tree) string {
	id := t.Get("proxyId").Text
	if id == "" {
		return ""
	}
	p := k.proxies[id]
	switch {
	case p == nil:
		e.Notef("its proxy %s is not in the file: write its URL into the check, as proxy", base.Clip(id))
	case p.Get("active").Kind == tree.Scalar && !base.IsTrue(p.Get("active")):
	case p.Get("protocol").Text != "http" && p.Get("protocol").Text != "https":
		e.Notef("its proxy speaks %s, and Belfry goes through proxies of HTTP alone: the request goes without it", base.Clip(p.Get("protocol").Text))
	default:
		if base.IsTrue(p.Get("auth")) {
			e.Notef("its proxy is carried over without its user and password, which a proxy of Belfry does not have")
		}
		return p.Get("protocol").Text + "://" + net.JoinHostPort(strings.Trim(p.Get("host").Text, "[]"), p.Get("port").Text)
	}
	return ""
}

// judge reads the conditions of an answer.
func (k *kuma) judge(e *base.Entry, t *tree.Tree, kind string) []string {
	var list []string
	switch kind {
	case "keyword":
		test := "body contains " + expr.Quote(t.Get("keyword").Text)
		if base.IsTrue(t.Get("invertKeyword")) {
			test = "not (" + test + ")"
		}
		list = append(list, test)
	case "json-query":
		if test, why := jsonQuery(t); why == "" {
			list = append(list, test)
		} else {
			e.Notef("jsonPath %q is not carried over: it %s; write a condition with jq", base.Clip(t.Get("jsonPath").Text), why)
		}
	}
	for i, test := range list {
		if len(test) > task.MaxCondition {
			e.Fault(t.At, "keyword", "", "is too long for a condition", "")
			list[i] = "true"
		}
	}
	return list
}

// jsonQuery writes a path in JSONata as one of jq, where it is no more than a
// path, and compares as Uptime Kuma does: as text, or as numbers.
func jsonQuery(t *tree.Tree) (test, why string) {
	path, want := strings.TrimSpace(t.Get("jsonPath").Text), t.Get("expectedValue").Text
	path = strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
	jq := "."
	if path != "" {
		var ok bool
		if jq, ok = expr.Path(strings.ReplaceAll(path, "`", "")); !ok {
			return "", "is more than a path"
		}
	}
	switch op := base.OrWord(t.Get("jsonPathOperator").Text, "=="); op {
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

func (k *kuma) dns(e *base.Entry, t *tree.Tree) *task.DNS {
	d := &task.DNS{Name: strings.TrimSuffix(t.Get("hostname").Text, "."), Type: strings.ToUpper(t.Get("dns_resolve_type").Text)}
	server, more, _ := strings.Cut(t.Get("dns_resolve_server").Text, ",")
	if strings.TrimSpace(more) != "" {
		e.Notef("of its name servers the first is asked")
	}
	if d.Server = strings.TrimSpace(server); d.Server != "" {
		if port := t.Get("port").Text; port != "" && port != "53" {
			d.Server = net.JoinHostPort(strings.Trim(d.Server, "[]"), port)
		}
	}
	given := t.Get("conditions")
	if given.Kind == tree.Scalar && given.Text != "" {
		given = tree.ReadInnerJSON(given.Text, given.At)
	}
	if given == nil {
		return d
	}
	for i, c := range given.List {
		if c.Get("variable").Text == "record" && c.Get("operator").Text == "equals" && (i == 0 || c.Get("andOr").Text == "and") {
			d.Expect = append(d.Expect, c.Get("value").Text)
			continue
		}
		e.Notef("%s is not carried over: it is not that a record equals a text; write a condition with answers", base.Numbered("conditions", i))
	}
	return d
}

// grpc asks the health service, which is the one that Belfry knows.
func (k *kuma) grpc(e *base.Entry, t *tree.Tree) *task.GRPC {
	if name := t.Get("grpcServiceName").Text; !strings.HasSuffix(strings.ToLower(name), "health") {
		e.Fault(t.Get("grpcServiceName").At, "grpcServiceName", name, "is not the health service, which is the one that Belfry asks", "let a command ask it and call a heartbeat")
	}
	address := t.Get("grpcUrl").Text
	if _, rest, hasScheme := strings.Cut(address, "://"); hasScheme {
		address = rest
	}
	if e.Err == nil {
		e.Notef("it is up when its health service says SERVING; the keyword is not looked for")
	}
	return &task.GRPC{Address: strings.TrimSuffix(address, "/"), Plaintext: !base.IsTrue(t.Get("grpcEnableTls")), SkipVerify: base.IsTrue(t.Get("grpcEnableTls")) && base.IsTrue(t.Get("ignoreTls"))}
}
