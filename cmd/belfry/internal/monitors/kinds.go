package monitors

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// checkFlags are what a monitor does each time: one flag that says the kind
// and the target, and the settings of that kind.
type checkFlags struct {
	url, page, tcp, dns, tls, ping, grpc, websocket, command string
	heartbeat                                                bool

	method, body, expectBody, user, password, bearer string
	headers, expectStatus                            []string
	maxRedirects                                     int
	skipVerify                                       bool
	family, serverName, send, expect                 string
	record, resolver                                 string
	answers                                          []string
	exact                                            bool
	warnDays, failDays, count, maxLoss               int
	starttls, service                                string
	plaintext                                        bool
	css, xpath, jsonPath, baseline, recheck          string
	ignoreCSS, ignore, mask                          []string
	keepMarkup, allowEmpty                           bool
	grace, maxRuntime                                string
	conditions, warnings                             []string
	timeout, queue                                   string
}

func (f *checkFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.url, "url", "", "kind http: address to request")
	fs.StringVar(&f.page, "page", "", "kind page: address of a page whose changes are watched")
	fs.StringVar(&f.tcp, "tcp", "", "kind tcp: host:port to connect to")
	fs.StringVar(&f.dns, "dns", "", "kind dns: name to look up")
	fs.StringVar(&f.tls, "tls", "", "kind tls: host[:port] whose certificate is looked at; port 443 if left out")
	fs.StringVar(&f.ping, "ping", "", "kind ping: host to send ICMP echo requests to")
	fs.StringVar(&f.grpc, "grpc", "", "kind grpc: host:port whose health service is asked")
	fs.StringVar(&f.websocket, "websocket", "", "kind websocket: ws or wss address")
	fs.BoolVar(&f.heartbeat, "heartbeat", false, "kind heartbeat: wait to be called, every --every or at --cron")
	fs.StringVar(&f.command, "command", "", "kind command: script for /bin/sh -c, on a worker that allows commands")

	fs.StringVar(&f.method, "method", "", "of --url: HTTP method; default: GET")
	fs.StringArrayVar(&f.headers, "header", nil, "of --url, --page, --websocket: 'Name: value'; may be repeated")
	fs.StringVar(&f.body, "body", "", "of --url: body of the request")
	fs.StringSliceVar(&f.expectStatus, "expect-status", nil, "of --url: status codes that are good, such as 200-299,404")
	fs.StringVar(&f.expectBody, "expect-body", "", "of --url: regular expression that the answer must match")
	fs.StringVar(&f.user, "user", "", "of --url: for basic authentication")
	fs.StringVar(&f.password, "password", "", "of --url: for basic authentication"+cli.SecretHelp)
	fs.StringVar(&f.bearer, "bearer", "", "of --url: token of an Authorization: Bearer header"+cli.SecretHelp)
	fs.IntVar(&f.maxRedirects, "max-redirects", 0, "of --url: redirects followed; -1 follows none; default: 10")
	fs.BoolVar(&f.skipVerify, "skip-verify", false, "of --url, --grpc: accept any certificate")
	fs.StringVar(&f.family, "family", "", "of --url, --tcp, --tls, --ping: any, ipv4 or ipv6; default: any")
	fs.StringVar(&f.serverName, "server-name", "", "of --url, --tls, --grpc: name for TLS; default: the target's host")
	fs.StringVar(&f.send, "send", "", "of --tcp, --websocket: text to send first")
	fs.StringVar(&f.expect, "expect", "", "of --tcp, --websocket: regular expression that must match what comes back")
	fs.StringVar(&f.record, "record", "", "of --dns: type of record, such as A or MX; default: A")
	fs.StringArrayVar(&f.answers, "answer", nil, "of --dns: answer that must be among those that come; may be repeated")
	fs.BoolVar(&f.exact, "exact", false, "of --dns: no other answers may come")
	fs.StringVar(&f.resolver, "resolver", "", "of --dns: whom to ask, host or host:port; default: the worker's own")
	fs.IntVar(&f.warnDays, "warn-days", 0, "of --tls: degraded when the certificate ends sooner; -1: never; default: 14")
	fs.IntVar(&f.failDays, "fail-days", 0, "of --tls: failed when the certificate ends sooner; default: when it has ended")
	fs.StringVar(&f.starttls, "starttls", "", "of --tls: protocol to be asked for TLS first: smtp, imap, pop3, ftp or postgres")
	fs.IntVar(&f.count, "count", 0, "of --ping: requests sent; default: 3")
	fs.IntVar(&f.maxLoss, "max-loss", 0, "of --ping: per cent that may stay unanswered; default: 0")
	fs.StringVar(&f.service, "service", "", "of --grpc: service to ask for; default: the server as a whole")
	fs.BoolVar(&f.plaintext, "plaintext", false, "of --grpc: without TLS")
	fs.StringVar(&f.css, "css", "", "of --page: selector of the elements to watch; default: the whole text")
	fs.StringVar(&f.xpath, "xpath", "", "of --page: instead of --css")
	fs.StringVar(&f.jsonPath, "json-path", "", "of --page: instead of --css, for JSON, such as .items[0].price")
	fs.StringArrayVar(&f.ignoreCSS, "ignore-css", nil, "of --page: selector of elements that are taken out first; may be repeated")
	fs.StringArrayVar(&f.ignore, "ignore", nil, "of --page: regular expression; what it matches is taken out; may be repeated")
	fs.StringSliceVar(&f.mask, "mask", nil, "of --page: what is replaced by a sign that it was there: numbers, dates")
	fs.BoolVar(&f.keepMarkup, "keep-markup", false, "of --page: compare elements with their attributes; default: their text")
	fs.StringVar(&f.baseline, "baseline", "", "of --page: compare with the version that was accepted (pinned) or the one before (rolling); default: rolling")
	fs.BoolVar(&f.allowEmpty, "allow-empty", false, "of --page: no text is a text like others")
	fs.StringVar(&f.recheck, "recheck", "", "of --page: a change counts when it is still there after so long; negative: at once; default: 10s")
	fs.StringVar(&f.grace, "grace", "", "of --heartbeat: how long after its time a call may come; default: a fifth of --every")
	fs.StringVar(&f.maxRuntime, "max-runtime", "", "of --heartbeat: longest time from a start to its end; default: no limit")
	fs.StringArrayVar(&f.conditions, "condition", nil, "expression that must hold of the answer, such as 'status == 200' or \"latency < duration('500ms')\"; may be repeated")
	fs.StringArrayVar(&f.warnings, "warning", nil, "expression that should hold; the target is degraded otherwise; may be repeated")
	fs.StringVar(&f.timeout, "timeout", "", "longest a check may take; default: 10s")
	fs.StringVar(&f.queue, "queue", "", "lane of the checks; default: checks")
}

// kindFlag is a flag that says what kind a monitor is of.
type kindFlag struct {
	name string
	kind task.Kind
}

var kindFlags = []kindFlag{
	{"url", task.KindHTTP}, {"page", task.KindPage}, {"tcp", task.KindTCP}, {"dns", task.KindDNS}, {"tls", task.KindTLS},
	{"ping", task.KindPing}, {"grpc", task.KindGRPC}, {"websocket", task.KindWebSocket}, {"heartbeat", task.KindHeartbeat},
	{"command", task.KindCommand},
}

var probed = []task.Kind{task.KindHTTP, task.KindPage, task.KindTCP, task.KindDNS, task.KindTLS, task.KindPing, task.KindGRPC, task.KindWebSocket}

// kindsOf says which kinds a setting belongs to.
var kindsOf = func() map[string][]task.Kind {
	all := map[string][]task.Kind{
		"condition": probed, "warning": probed, "timeout": append(slices.Clone(probed), task.KindCommand), "queue": append(slices.Clone(probed), task.KindCommand),
		"header": {task.KindHTTP, task.KindPage, task.KindWebSocket}, "skip-verify": {task.KindHTTP, task.KindGRPC},
		"family":      {task.KindHTTP, task.KindTCP, task.KindTLS, task.KindPing},
		"server-name": {task.KindHTTP, task.KindTLS, task.KindGRPC},
	}
	for kinds, names := range map[[2]task.Kind]string{
		{task.KindHTTP}:                    "method body expect-status expect-body user password bearer max-redirects",
		{task.KindTCP, task.KindWebSocket}: "send expect",
		{task.KindDNS}:                     "record answer exact resolver",
		{task.KindTLS}:                     "warn-days fail-days starttls",
		{task.KindPing}:                    "count max-loss",
		{task.KindGRPC}:                    "service plaintext",
		{task.KindPage}:                    "css xpath json-path ignore-css ignore mask keep-markup baseline allow-empty recheck",
		{task.KindHeartbeat}:               "grace max-runtime",
	} {
		for _, name := range strings.Fields(names) {
			all[name] = slices.DeleteFunc(slices.Clone(kinds[:]), func(k task.Kind) bool { return k == "" })
		}
	}
	return all
}()

// kindOf is what a monitor is, as far as it is known, and otherwise empty.
func kindOf(m monitor.Monitor) task.Kind {
	if k := m.WithDefaults().Kind(); k != task.KindFunc {
		return k
	}
	return ""
}

// applyCheck puts the flags that were given into a monitor.
func (f *checkFlags) applyCheck(c *cli.CLI, fs *pflag.FlagSet, m *monitor.Monitor) error {
	given := fs.Changed
	kind, err := f.kind(given, m)
	if err != nil {
		return err
	}
	if err := belongs(fs, kind); err != nil {
		return err
	}
	cli.Set(given("condition"), f.conditions, &m.Check.Conditions)
	cli.Set(given("warning"), f.warnings, &m.Check.Warnings)
	cli.Set(given("queue"), f.queue, &m.Check.Queue)
	if err := cli.Duration(given, "timeout", f.timeout, &m.Check.Timeout); err != nil {
		return err
	}
	return f.applyKind(c, given, kind, m)
}

// kind is the kind that the flags ask for, or else the one that the monitor
// has. Another kind begins without the settings of the one before.
func (f *checkFlags) kind(given func(string) bool, m *monitor.Monitor) (task.Kind, error) {
	before := kindOf(*m)
	var asked []kindFlag
	for _, k := range kindFlags {
		if given(k.name) {
			asked = append(asked, k)
		}
	}
	switch {
	case len(asked) > 1:
		return "", core.InvalidField("--"+asked[1].name, "", "cannot stand beside --"+asked[0].name, "a monitor has exactly one kind")
	case len(asked) == 0 && before == "":
		return "", core.InvalidField("--url", "", "is missing, and so is every other kind", "say what to look at: one of "+kindNames(kindFlags))
	case len(asked) == 0:
		return before, nil
	case asked[0].kind == task.KindHeartbeat && !f.heartbeat:
		return "", core.InvalidField("--heartbeat", "false", "means nothing", "name another kind instead")
	case asked[0].kind != before:
		m.Check = task.Task{Queue: m.Check.Queue, Timeout: m.Check.Timeout}
		m.Heartbeat = nil
	}
	return asked[0].kind, nil
}

func kindNames(kinds []kindFlag) string {
	var names []string
	for _, k := range kinds {
		names = append(names, "--"+k.name)
	}
	return strings.Join(names, ", ")
}

// belongs refuses a setting of another kind.
func belongs(fs *pflag.FlagSet, kind task.Kind) (err error) {
	fs.Visit(func(flag *pflag.Flag) {
		kinds, is := kindsOf[flag.Name]
		if !is || slices.Contains(kinds, kind) || err != nil {
			return
		}
		fitting := slices.DeleteFunc(slices.Clone(kindFlags), func(k kindFlag) bool { return !slices.Contains(kinds, k.kind) })
		err = core.InvalidField("--"+flag.Name, "", "does not belong to a monitor of kind "+string(kind), "it belongs to "+kindNames(fitting))
	})
	return err
}

func (f *checkFlags) applyKind(c *cli.CLI, given func(string) bool, kind task.Kind, m *monitor.Monitor) error {
	t := &m.Check
	if kind != task.KindHeartbeat {
		t.Kind = kind
	}
	switch kind {
	case task.KindHTTP:
		t.HTTP = cli.Edited(t.HTTP)
		return f.applyHTTP(c, given, t.HTTP)
	case task.KindPage:
		t.Page = cli.Edited(t.Page)
		return f.applyPage(given, t.Page)
	case task.KindTCP:
		t.TCP = cli.Edited(t.TCP)
		cli.Set(given("tcp"), f.tcp, &t.TCP.Address)
		cli.Set(given("family"), task.IPFamily(f.family), &t.TCP.Family)
		cli.Set(given("send"), f.send, &t.TCP.Send)
		cli.Set(given("expect"), f.expect, &t.TCP.Expect)
	case task.KindDNS:
		t.DNS = cli.Edited(t.DNS)
		cli.Set(given("dns"), f.dns, &t.DNS.Name)
		cli.Set(given("record"), f.record, &t.DNS.Type)
		cli.Set(given("answer"), f.answers, &t.DNS.Expect)
		cli.Set(given("exact"), f.exact, &t.DNS.Exact)
		cli.Set(given("resolver"), f.resolver, &t.DNS.Server)
	case task.KindTLS:
		t.TLS = cli.Edited(t.TLS)
		cli.Set(given("tls"), f.tls, &t.TLS.Address)
		cli.Set(given("server-name"), f.serverName, &t.TLS.ServerName)
		cli.Set(given("family"), task.IPFamily(f.family), &t.TLS.Family)
		cli.Set(given("starttls"), f.starttls, &t.TLS.StartTLS)
		cli.Set(given("warn-days"), f.warnDays, &t.TLS.WarnDays)
		cli.Set(given("fail-days"), f.failDays, &t.TLS.FailDays)
	case task.KindPing:
		t.Ping = cli.Edited(t.Ping)
		cli.Set(given("ping"), f.ping, &t.Ping.Host)
		cli.Set(given("family"), task.IPFamily(f.family), &t.Ping.Family)
		cli.Set(given("count"), f.count, &t.Ping.Count)
		cli.Set(given("max-loss"), f.maxLoss, &t.Ping.MaxLoss)
	case task.KindGRPC:
		t.GRPC = cli.Edited(t.GRPC)
		cli.Set(given("grpc"), f.grpc, &t.GRPC.Address)
		cli.Set(given("service"), f.service, &t.GRPC.Service)
		cli.Set(given("plaintext"), f.plaintext, &t.GRPC.Plaintext)
		cli.Set(given("server-name"), f.serverName, &t.GRPC.ServerName)
		cli.Set(given("skip-verify"), f.skipVerify, &t.GRPC.SkipVerify)
	case task.KindWebSocket:
		t.WebSocket = cli.Edited(t.WebSocket)
		cli.Set(given("websocket"), f.websocket, &t.WebSocket.URL)
		cli.Set(given("send"), f.send, &t.WebSocket.Send)
		cli.Set(given("expect"), f.expect, &t.WebSocket.Expect)
		return f.applyHeaders(given, &t.WebSocket.Headers)
	case task.KindCommand:
		t.Command = cli.Edited(t.Command)
		if given("command") {
			t.Command.Shell, t.Command.Argv = f.command, nil
		}
	case task.KindHeartbeat:
		m.Heartbeat = cli.Edited(m.Heartbeat)
		return errors.Join(cli.Duration(given, "grace", f.grace, &m.Heartbeat.Grace), cli.Duration(given, "max-runtime", f.maxRuntime, &m.Heartbeat.MaxRuntime))
	}
	return nil
}

func (f *checkFlags) applyHTTP(c *cli.CLI, given func(string) bool, h *task.HTTP) error {
	cli.Set(given("url"), f.url, &h.URL)
	cli.Set(given("method"), f.method, &h.Method)
	cli.Set(given("body"), f.body, &h.Body)
	cli.Set(given("expect-status"), f.expectStatus, &h.ExpectStatus)
	cli.Set(given("expect-body"), f.expectBody, &h.ExpectBody)
	cli.Set(given("max-redirects"), f.maxRedirects, &h.MaxRedirects)
	cli.Set(given("skip-verify"), f.skipVerify, &h.SkipVerify)
	cli.Set(given("family"), task.IPFamily(f.family), &h.Family)
	cli.Set(given("server-name"), f.serverName, &h.ServerName)
	if given("user") || given("password") || given("bearer") {
		h.Auth = cli.Edited(h.Auth)
		cli.Set(given("user"), f.user, &h.Auth.User)
		err := errors.Join(c.SetSecret(given, "password", f.password, &h.Auth.Password), c.SetSecret(given, "bearer", f.bearer, &h.Auth.Bearer))
		if err != nil {
			return err
		}
	}
	return f.applyHeaders(given, &h.Headers)
}

func (f *checkFlags) applyHeaders(given func(string) bool, to *map[string]string) (err error) {
	if given("header") {
		*to, err = cli.NameValues("--header", f.headers, ":")
	}
	return err
}

func (f *checkFlags) applyPage(given func(string) bool, g *task.PageCheck) error {
	cli.Set(given("page"), f.page, &g.URL)
	if given("css") || given("xpath") || given("json-path") {
		g.CSS, g.XPath, g.JSONPath = f.css, f.xpath, f.jsonPath // one way replaces another
	}
	cli.Set(given("ignore-css"), f.ignoreCSS, &g.IgnoreCSS)
	cli.Set(given("ignore"), f.ignore, &g.Ignore)
	cli.Set(given("mask"), f.mask, &g.Mask)
	cli.Set(given("keep-markup"), f.keepMarkup, &g.KeepMarkup)
	cli.Set(given("baseline"), task.PageBaseline(f.baseline), &g.Baseline)
	cli.Set(given("allow-empty"), f.allowEmpty, &g.AllowEmpty)
	if err := cli.Duration(given, "recheck", f.recheck, &g.Confirm); err != nil {
		return err
	}
	return f.applyHeaders(given, &g.Headers)
}
