package gatus

import (
	"encoding/json"
	"net"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
	"github.com/belfry-run/belfry/task"
)

// check is the check of an endpoint, by the scheme of its URL. It may add a check of the registration of a domain.
func (g *gatus) check(e *base.Entry, t *tree.Tree, target, name, group string) (tk task.Task, ending *base.Registration) {
	scheme, rest, _ := strings.Cut(target, "://")
	body := g.body(e, t, target, name, group)
	switch {
	case t.Get("url").Text == "":
		e.Fault(t.At, "url", "", "is missing", "")
	case !t.Get("dns").Empty():
		tk.DNS = g.dns(e, t.Get("dns"), target)
	case scheme == "http" || scheme == "https":
		tk.HTTP = g.http(e, t, target, body)
	case scheme == "tcp":
		tk.TCP = &task.TCP{Address: rest, Send: escaped(body)}
	case scheme == "udp":
		tk.UDP = &task.UDP{Address: rest, Send: escaped(body)}
	case scheme == "ssh":
		tk.TCP = g.ssh(e, t, rest)
	case scheme == "icmp":
		tk.Ping = &task.Ping{Host: base.Pinged(rest), Count: 1} // Gatus sends one
	case scheme == "tls":
		tk.TLS = &task.TLS{Address: rest}
	case scheme == "starttls":
		tk.TLS = &task.TLS{Address: rest, StartTLS: "smtp"} // the one protocol that Gatus asks
	case scheme == "ws" || scheme == "wss":
		tk.WebSocket = &task.WebSocket{URL: target, Headers: g.headers(e, t), Send: body}
	case scheme == "grpc" || scheme == "grpcs":
		tk.GRPC = &task.GRPC{Address: rest, Plaintext: scheme == "grpc"}
	default:
		e.Fault(t.Get("url").At, "url", base.Bare(target), "is of a kind that Belfry does not check",
			"it checks http, https, tcp, udp, icmp, tls, starttls, ws, wss, grpc and dns; a command can check the rest")
	}
	if e.Err != nil {
		return tk, nil
	}
	g.client(e, t.Get("client"), &tk)
	return tk, g.conditions(e, t, &tk, base.HostOf(target))
}

// body is the sent body, with the placeholders that are known beforehand.
func (g *gatus) body(e *base.Entry, t *tree.Tree, target, name, group string) string {
	text := g.text(e, t.Get("body"), "body")
	text = strings.NewReplacer("[ENDPOINT_NAME]", name, "[ENDPOINT_GROUP]", group, "[ENDPOINT_URL]", target).Replace(text)
	text = g.Spend(e, t.Get("body").At, text)
	for _, other := range []string{"[RANDOM_STRING_", "[LOCAL_ADDRESS]"} {
		if strings.Contains(text, other) {
			e.Notef("body: %s] is sent as it stands, because Belfry has no placeholders", strings.TrimRight(other, "]"))
		}
	}
	return text
}

func (g *gatus) http(e *base.Entry, t *tree.Tree, target, body string) *task.HTTP {
	h := &task.HTTP{Method: strings.ToUpper(t.Get("method").Text), Headers: g.headers(e, t), Body: body}
	h.URL, h.Auth = base.SplitUser(target)
	if base.IsTrue(t.Get("graphql")) {
		query, err := json.Marshal(map[string]string{"query": body})
		if err == nil {
			h.Body = string(query)
		}
		h.Headers = base.WithHeader(h.Headers, "Content-Type", "application/json")
	}
	base.Authorize(h)
	return h
}

func (g *gatus) headers(e *base.Entry, t *tree.Tree) map[string]string {
	given := t.Get("headers")
	var h map[string]string
	for _, name := range given.Keys {
		h = base.WithHeader(h, name, g.text(e, given.Table[name], "headers."+base.Clip(name)))
	}
	return h
}

// escaped writes sent bytes as a text of Go, without its quotes.
func escaped(text string) string {
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func (g *gatus) ssh(e *base.Entry, t *tree.Tree, address string) *task.TCP {
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), "22")
	}
	if !t.Get("ssh").Empty() || !t.Get("body").Empty() {
		e.Notef("Belfry does not log in: it looks whether SSH answers; a command can do more")
	}
	return &task.TCP{Address: address, Expect: "^SSH-"}
}

func (g *gatus) dns(e *base.Entry, t *tree.Tree, server string) *task.DNS {
	if _, rest, hasScheme := strings.Cut(server, "://"); hasScheme {
		server = rest
	}
	d := &task.DNS{
		Name: strings.TrimSuffix(g.text(e, t.Get("query-name"), "dns.query-name"), "."), Type: strings.ToUpper(t.Get("query-type").Text),
		Server: strings.TrimSuffix(server, "/"),
	}
	e.Leave(t, "dns.", "query-name", "query-type")
	return d
}

// handwork are settings of a client of Gatus without an equivalent in a file of
// definitions, each with its manual step.
var handwork = []struct{ key, advice string }{
	{"oauth2", "the request goes without its token, so that it may be refused; give the check a token that lasts, as auth.bearer"},
	{"identity-aware-proxy", "the request goes without its token, so that it may be refused"},
	{"kerberos", "the request goes without its ticket, so that it may be refused"},
	{"tls", "its files are not here; write the PEM of both into the check, as auth.cert and auth.key"},
	{"tunnel", "the check goes without it; run a worker behind it"},
	{"dns-resolver", "names are looked up as the worker does"},
}

// client is how an endpoint is asked.
func (g *gatus) client(e *base.Entry, t *tree.Tree, tk *task.Task) {
	tk.Timeout = g.span(e, t.Get("timeout"), "client.timeout")
	if base.IsTrue(t.Get("insecure")) {
		switch {
		case tk.HTTP != nil:
			tk.HTTP.SkipVerify = true
		case tk.GRPC != nil && !tk.GRPC.Plaintext:
			tk.GRPC.SkipVerify = true
		case tk.TLS != nil || tk.WebSocket != nil:
			e.Notef("client.insecure is not carried over: a check of this kind trusts certificates of known authorities alone; name another one as ca where it can be")
		}
	}
	if h := tk.HTTP; h != nil {
		if base.IsTrue(t.Get("ignore-redirect")) {
			h.MaxRedirects = -1
		}
		if proxy := g.text(e, t.Get("proxy-url"), "client.proxy-url"); proxy != "" {
			var auth *task.HTTPAuth
			if h.Proxy, auth = base.SplitUser(proxy); auth != nil {
				e.Notef("client.proxy-url is carried over without its user and password, which a proxy of Belfry does not have")
			}
		}
	} else if !t.Get("proxy-url").Empty() {
		e.Notef("client.proxy-url is not carried over: only HTTP goes through a proxy")
	}
	if tk.Ping != nil {
		tk.Ping.Family = map[string]task.IPFamily{"ip4": task.FamilyIPv4, "ip6": task.FamilyIPv6}[t.Get("network").Text]
	}
	known := []string{"timeout", "insecure", "ignore-redirect", "proxy-url", "network"}
	for _, h := range handwork {
		if known = append(known, h.key); !t.Get(h.key).Empty() {
			e.Notef("client.%s is not carried over: %s", h.key, h.advice)
		}
	}
	e.Leave(t, "client.", known...)
}

// conditions reads the conditions of a good answer.
func (g *gatus) conditions(e *base.Entry, t *tree.Tree, tk *task.Task, host string) *base.Registration {
	j := &judging{host: host, kind: tk.WithDefaults().Kind, mail: tk.DNS != nil && tk.DNS.Type == "MX", loose: map[string]bool{}, fits: g.fits}
	for i, c := range t.Get("conditions").List {
		path := base.Numbered("conditions", i)
		text := g.text(e, c, path)
		if i >= task.MaxConditions {
			e.Notef("%s and those after it are not carried over: a monitor has at most %d", path, task.MaxConditions)
			break
		}
		switch why := j.add(text); why {
		case "":
		case base.Inverted:
			e.Fault(c.At, path, text, why, "watch it from the other side, or leave it out")
		default:
			e.Notef("%s %q is not carried over: it %s", path, base.Clip(text), why)
		}
	}
	for _, expr := range j.exprs {
		if len(expr) > task.MaxCondition {
			e.Notef("a condition is not carried over: it has more than %d bytes", task.MaxCondition)
			continue
		}
		tk.Conditions = append(tk.Conditions, expr)
	}
	g.latency, g.length = g.latency || j.loose["latency"], g.length || j.loose["len"]
	switch {
	case len(t.Get("conditions").List) == 0:
		e.Notef("it has no conditions, which it needs there: it is up when it answers as Belfry takes for granted")
	case tk.HTTP != nil:
		if tk.HTTP.ExpectStatus = j.statusRanges(); len(tk.HTTP.ExpectStatus) == 0 {
			e.Fault(t.Get("conditions").At, "conditions", "", "allow no status at all", "")
		}
	case tk.TCP != nil:
		tk.TCP.Expect = base.OrWord(j.expect, tk.TCP.Expect)
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
