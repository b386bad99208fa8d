package intake

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// check is what an endpoint looks at: the scheme of its URL says how. It may want a domain to be registered besides.
func (g *gatus) check(e *entry, t *tree, target, name, group string) (tk task.Task, ending *registration) {
	scheme, rest, _ := strings.Cut(target, "://")
	body := g.body(e, t, target, name, group)
	switch {
	case t.get("url").text == "":
		e.fault(t.at, "url", "", "is missing", "")
	case !t.get("dns").empty():
		tk.DNS = g.dns(e, t.get("dns"), target)
	case scheme == "http" || scheme == "https":
		tk.HTTP = g.http(e, t, target, body)
	case scheme == "tcp":
		tk.TCP = &task.TCP{Address: rest, Send: escaped(body)}
	case scheme == "udp":
		tk.UDP = &task.UDP{Address: rest, Send: escaped(body)}
	case scheme == "ssh":
		tk.TCP = g.ssh(e, t, rest)
	case scheme == "icmp":
		tk.Ping = &task.Ping{Host: pinged(rest), Count: 1} // Gatus sends one
	case scheme == "tls":
		tk.TLS = &task.TLS{Address: rest}
	case scheme == "starttls":
		tk.TLS = &task.TLS{Address: rest, StartTLS: "smtp"} // the one protocol that Gatus asks
	case scheme == "ws" || scheme == "wss":
		tk.WebSocket = &task.WebSocket{URL: target, Headers: g.headers(e, t), Send: body}
	case scheme == "grpc" || scheme == "grpcs":
		tk.GRPC = &task.GRPC{Address: rest, Plaintext: scheme == "grpc"}
	default:
		e.fault(t.get("url").at, "url", bare(target), "is of a kind that Belfry does not check",
			"it checks http, https, tcp, udp, icmp, tls, starttls, ws, wss, grpc and dns; a command can check the rest")
	}
	if e.Err != nil {
		return tk, nil
	}
	g.client(e, t.get("client"), &tk)
	return tk, g.conditions(e, t, &tk, hostOf(target))
}

// body is what is sent, with the placeholders that are known beforehand.
func (g *gatus) body(e *entry, t *tree, target, name, group string) string {
	text := g.text(e, t.get("body"), "body")
	text = strings.NewReplacer("[ENDPOINT_NAME]", name, "[ENDPOINT_GROUP]", group, "[ENDPOINT_URL]", target).Replace(text)
	text = g.spend(e, t.get("body").at, text)
	for _, other := range []string{"[RANDOM_STRING_", "[LOCAL_ADDRESS]"} {
		if strings.Contains(text, other) {
			e.notef("body: %s] is sent as it stands, because Belfry has no placeholders", strings.TrimRight(other, "]"))
		}
	}
	return text
}

func (g *gatus) http(e *entry, t *tree, target, body string) *task.HTTP {
	h := &task.HTTP{Method: strings.ToUpper(t.get("method").text), Headers: g.headers(e, t), Body: body}
	h.URL, h.Auth = splitUser(target)
	if isTrue(t.get("graphql")) {
		query, err := json.Marshal(map[string]string{"query": body})
		if err == nil {
			h.Body = string(query)
		}
		h.Headers = withHeader(h.Headers, "Content-Type", "application/json")
	}
	authorize(h)
	return h
}

func isTrue(t *tree) bool { return truth(t) || t.text == "1" }

func (g *gatus) headers(e *entry, t *tree) map[string]string {
	given := t.get("headers")
	var h map[string]string
	for _, name := range given.keys {
		h = withHeader(h, name, g.text(e, given.table[name], "headers."+clip(name)))
	}
	return h
}

// withHeader adds a header, unless it is there in whatever spelling.
func withHeader(h map[string]string, name, value string) map[string]string {
	for known := range h {
		if textproto.CanonicalMIMEHeaderKey(known) == textproto.CanonicalMIMEHeaderKey(name) {
			return h
		}
	}
	if h == nil {
		h = map[string]string{}
	}
	h[name] = value
	return h
}

// authorize takes who asks out of the headers, where everybody sees it.
func authorize(h *task.HTTP) {
	for name, value := range h.Headers {
		if !strings.EqualFold(name, "Authorization") || h.Auth != nil {
			continue
		}
		kind, rest, _ := strings.Cut(value, " ")
		var a task.HTTPAuth
		switch {
		case strings.EqualFold(kind, "Bearer") && rest != "" && !strings.ContainsAny(rest, " \r\n\x00"):
			a.Bearer = core.Secret(rest)
		case strings.EqualFold(kind, "Basic"):
			pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
			user, password, isPair := strings.Cut(string(pair), ":")
			if err != nil || !isPair || user == "" || !plain(string(pair)) {
				continue
			}
			a.User, a.Password = user, core.Secret(password)
		default:
			continue
		}
		h.Auth = &a
		delete(h.Headers, name)
	}
	if len(h.Headers) == 0 {
		h.Headers = nil
	}
}

// escaped writes what is sent as a text of Go, without its quotes.
func escaped(text string) string {
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func (g *gatus) ssh(e *entry, t *tree, address string) *task.TCP {
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), "22")
	}
	if !t.get("ssh").empty() || !t.get("body").empty() {
		e.notef("Belfry does not log in: it looks whether SSH answers; a command can do more")
	}
	return &task.TCP{Address: address, Expect: "^SSH-"}
}

func (g *gatus) dns(e *entry, t *tree, server string) *task.DNS {
	if _, rest, hasScheme := strings.Cut(server, "://"); hasScheme {
		server = rest
	}
	d := &task.DNS{
		Name: strings.TrimSuffix(g.text(e, t.get("query-name"), "dns.query-name"), "."), Type: strings.ToUpper(t.get("query-type").text),
		Server: strings.TrimSuffix(server, "/"),
	}
	e.leave(t, "dns.", "query-name", "query-type")
	return d
}

// handwork is what a client of Gatus can do and a file of definitions cannot
// say, and what is to be done about it.
var handwork = []struct{ key, advice string }{
	{"oauth2", "the request goes without its token, so that it may be refused; give the check a token that lasts, as auth.bearer"},
	{"identity-aware-proxy", "the request goes without its token, so that it may be refused"},
	{"kerberos", "the request goes without its ticket, so that it may be refused"},
	{"tls", "its files are not here; write the PEM of both into the check, as auth.cert and auth.key"},
	{"tunnel", "the check goes without it; run a worker behind it"},
	{"dns-resolver", "names are looked up as the worker does"},
}

// client is how an endpoint is asked.
func (g *gatus) client(e *entry, t *tree, tk *task.Task) {
	tk.Timeout = g.span(e, t.get("timeout"), "client.timeout")
	if isTrue(t.get("insecure")) {
		switch {
		case tk.HTTP != nil:
			tk.HTTP.SkipVerify = true
		case tk.GRPC != nil && !tk.GRPC.Plaintext:
			tk.GRPC.SkipVerify = true
		case tk.TLS != nil || tk.WebSocket != nil:
			e.notef("client.insecure is not carried over: a check of this kind trusts certificates of known authorities alone; name another one as ca where it can be")
		}
	}
	if h := tk.HTTP; h != nil {
		if isTrue(t.get("ignore-redirect")) {
			h.MaxRedirects = -1
		}
		if proxy := g.text(e, t.get("proxy-url"), "client.proxy-url"); proxy != "" {
			var auth *task.HTTPAuth
			if h.Proxy, auth = splitUser(proxy); auth != nil {
				e.notef("client.proxy-url is carried over without its user and password, which a proxy of Belfry does not have")
			}
		}
	} else if !t.get("proxy-url").empty() {
		e.notef("client.proxy-url is not carried over: only HTTP goes through a proxy")
	}
	if tk.Ping != nil {
		tk.Ping.Family = map[string]task.IPFamily{"ip4": task.FamilyIPv4, "ip6": task.FamilyIPv6}[t.get("network").text]
	}
	known := []string{"timeout", "insecure", "ignore-redirect", "proxy-url", "network"}
	for _, h := range handwork {
		if known = append(known, h.key); !t.get(h.key).empty() {
			e.notef("client.%s is not carried over: %s", h.key, h.advice)
		}
	}
	e.leave(t, "client.", known...)
}

// conditions are what makes an answer a good one.
func (g *gatus) conditions(e *entry, t *tree, tk *task.Task, host string) *registration {
	j := &judging{host: host, kind: tk.WithDefaults().Kind, mail: tk.DNS != nil && tk.DNS.Type == "MX", loose: map[string]bool{}, fits: g.fits}
	for i, c := range t.get("conditions").list {
		path := numbered("conditions", i)
		text := g.text(e, c, path)
		if i >= task.MaxConditions {
			e.notef("%s and those after it are not carried over: a monitor has at most %d", path, task.MaxConditions)
			break
		}
		switch why := j.add(text); why {
		case "":
		case inverted:
			e.fault(c.at, path, text, why, "watch it from the other side, or leave it out")
		default:
			e.notef("%s %q is not carried over: it %s", path, clip(text), why)
		}
	}
	for _, expr := range j.exprs {
		if len(expr) > task.MaxCondition {
			e.notef("a condition is not carried over: it has more than %d bytes", task.MaxCondition)
			continue
		}
		tk.Conditions = append(tk.Conditions, expr)
	}
	g.latency, g.length = g.latency || j.loose["latency"], g.length || j.loose["len"]
	switch {
	case len(t.get("conditions").list) == 0:
		e.notef("it has no conditions, which it needs there: it is up when it answers as Belfry takes for granted")
	case tk.HTTP != nil:
		if tk.HTTP.ExpectStatus = j.statusRanges(); len(tk.HTTP.ExpectStatus) == 0 {
			e.fault(t.get("conditions").at, "conditions", "", "allow no status at all", "")
		}
	case tk.TCP != nil:
		tk.TCP.Expect = orWord(j.expect, tk.TCP.Expect)
	case tk.UDP != nil:
		tk.UDP.Expect = j.expect
	case tk.WebSocket != nil:
		tk.WebSocket.Expect = j.expect
	case tk.DNS != nil:
		tk.DNS.Expect = j.answer
	case tk.TLS != nil:
		tk.TLS.FailDays = j.days
	}
	return j.ending
}
