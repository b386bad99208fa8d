package task

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// KindInfo describes a kind, except how it is run.
type KindInfo struct {
	Kind Kind

	// Of tasks. A kind without a form is edited as JSON, or has its own pages.
	Form   string // title of the form of a new task
	Does   string // what a job of the kind does
	Worker string // how to get a worker for it: "start ..."

	// Of monitors. Kinds without a flag are not for monitors.
	Title  string // for pages
	Text   string // what a monitor of the kind does
	Flag   string // flag of the command line that sets kind and target
	Fields []setting.Field
	Values string        // values for conditions, separated by spaces; kinds with values check a target over the network
	Every  core.Duration // between two checks, if the monitor does not say; 0: as often as those of most kinds

	part    setting.Part[Task]
	target  func(t Task) Target
	facts   func(t Task) setting.Facts // settings for people, besides the target
	details func(t Task) setting.Facts // settings for the command line; default: the target
}

// Target describes what a task runs or checks, for several places.
type Target struct {
	Line   string // on pages, for people with access to the task
	Brief  string // in a list of tasks of all kinds
	Public string // for people without access to the task: without user, query and arguments
	Verb   string // action, before Public: "Connect to "
	Same   []any  // settings that identify the target: if an edit keeps them, the target is the same
}

var (
	families  = []string{string(FamilyAny), string(FamilyIPv4), string(FamilyIPv6)}
	family    = setting.Field{Path: "family", As: setting.Choice, Flag: "family", Usage: "any, ipv4 or ipv6; default: any", Label: "Addresses", Options: families, More: true}
	verifying = setting.Field{Path: "skip_verify", As: setting.Check, Flag: "skip-verify", Usage: "accept any certificate", Label: "Accept any certificate", More: true}
	headers   = setting.Field{Path: "headers", As: setting.Pairs, Flag: "header", Usage: "'Name: value'; may be repeated", Label: "Headers", More: true}
)

// with returns a field of several kinds with the label and hint of one kind.
func with(f setting.Field, label, hint string) setting.Field {
	f.Label, f.Hint = label, hint
	return f
}

const serverNameUsage = "name for TLS; default: the target's host"

// KindTable has a row for each kind, in the order of [Task]. Validation, the command line, pages, conditions and imports
// use it.
var KindTable = []KindInfo{
	{
		Kind: KindFunc, Form: "Go handler", Does: "Runs the handler that has the name of the task, in a worker of your own program.",
		Worker: "start the program that has a Go handler for it",
	},
	{
		Kind: KindCommand, Form: "Command", Does: "Runs a script or a program on a worker.", Worker: "start a node or worker with --allow-commands",
		Title: "Command", Flag: "command", Text: "Runs a command on a worker. Its operator has to allow that.",
		Fields: []setting.Field{
			{Path: "shell", As: setting.Area, Flag: "command", Usage: "script for /bin/sh -c, on a worker that allows commands", Label: "Script", Hint: "For /bin/sh. Exit code 0 is success.", OneOf: "program"},
			{Path: "argv", As: setting.Lines, Label: "Program without a shell", Hint: "Instead of a script: the program and its arguments, one a line.", OneOf: "program", More: true},
			{Path: "env", As: setting.Pairs, Label: "Environment", Hint: "Anyone who may read sees the values. A row without a name is left out."},
			{Path: "dir", Label: "Working directory", Hint: "Absolute. Default: an empty one, removed afterwards."},
			{Path: "stdin", As: setting.Area, Label: "Standard input", Hint: "Default: the job's input as JSON.", More: true},
			{Path: "kill_grace", As: setting.Duration, Label: "Time to stop", Hint: "Between SIGTERM and SIGKILL. Default: 5s.", More: true},
		},
		part: setting.At(func(t *Task) **Command { return &t.Command }, Command.withDefaults, Command.validate),
		target: func(t Task) Target {
			c := t.Command
			g := Target{Line: cmp.Or(c.Shell, strings.Join(c.Argv, " ")), Same: []any{c.Argv, c.Shell}}
			if g.Brief = g.Line; len(c.Argv) > 0 {
				g.Public = path.Base(c.Argv[0])
			}
			return g
		},
		details: func(t Task) (f setting.Facts) {
			c := t.Command
			f.Add(true, "shell", "%s", c.Shell)
			f.Add(true, "argv", "%s", strings.Join(c.Argv, " "))
			f.Add(true, "dir", "%s", c.Dir)
			f.Add(true, "env", "%s", setting.Entries(c.Env, "="))
			f.Add(true, "stdin", "%s", c.Stdin)
			f.Add(true, "kill grace", "%s", c.KillGrace)
			return f
		},
	},
	{
		Kind: KindProgram, Does: "Runs an uploaded program in a sandbox.", Worker: "start a worker that runs programs: belfry worker",
		Fields: []setting.Field{
			{Path: "args", As: setting.Lines, Label: "Arguments", Hint: "One a line, after the program's own name."},
			{Path: "env", As: setting.Pairs, Label: "Environment", Hint: "Anyone who may read sees the values. A row without a name is left out."},
			{Path: "secrets", As: setting.Pairs, Label: "Secrets", Hint: "Name of the environment variable, and the secret of the namespace that it holds."},
			{Path: "network", As: setting.Check, Label: "Network", Hint: "It may reach the network. A worker's operator must allow it too."},
			{Path: "min_isolation", As: setting.Choice, Label: "Weakest isolation", Options: []string{"", "none", "user", "confined", "namespaces", "gvisor"}, Hint: "No worker with less starts it.", More: true},
			{Path: "stdin", As: setting.Area, Label: "Standard input", Hint: "Default: the job's input as JSON.", More: true},
			{Path: "kill_grace", As: setting.Duration, Label: "Time to stop", Hint: "Between SIGTERM and SIGKILL. Default: 5s.", More: true},
		},
		part: setting.At(func(t *Task) **Program { return &t.Program }, Program.withDefaults, Program.validate),
		target: func(t Task) Target {
			g := t.Program
			return Target{Line: "an uploaded program", Brief: strings.Join(append([]string{g.SHA256[:min(len(g.SHA256), 12)]}, g.Args...), " ")}
		},
		details: func(t Task) setting.Facts { return t.Program.details() },
	},
	{
		Kind: KindHTTP, Form: "HTTP request", Does: "Sends a request, and succeeds with a good status.", Title: "HTTP", Flag: "url", Text: "Asks an address, and looks at the answer.",
		Values: "latency dns_time connect_time tls_time first_byte transfer ip status header body json jq redirects final_url cert_days",
		Fields: []setting.Field{
			{Path: "url", Flag: "url", Usage: "address to request", Label: "Address", Need: true, Hint: "https://example.com/health"},
			{Path: "method", As: setting.Choice, Flag: "method", Usage: "HTTP method; default: GET", Label: "Method", Options: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}},
			{Path: "expect_status", As: setting.Words, Flag: "expect-status", Usage: "status codes that are good, such as 200-299,404", Label: "Good status", Hint: "Codes and ranges, such as 200-299, 404. Default: 200-299."},
			{Path: "expect_body", Flag: "expect-body", Usage: "regular expression that the answer must match", Label: "Body matches", Hint: "A regular expression (RE2). Empty: anything."},
			with(headers, "Headers", "Anyone who may read sees them; secrets belong below."),
			{Path: "body", As: setting.Area, Flag: "body", Usage: "body of the request", Label: "Body", More: true},
			{Path: "auth.user", Flag: "user", Usage: "for basic authentication", Label: "User", Hint: "For basic authentication.", More: true},
			{Path: "auth.password", As: setting.Secret, Flag: "password", Usage: "for basic authentication", Label: "Password", Hint: setting.SecretHint, More: true},
			{Path: "auth.bearer", As: setting.Secret, Flag: "bearer", Usage: "token of an Authorization: Bearer header", Label: "Bearer token", Hint: "Instead of user and password. " + setting.SecretHint, More: true},
			{Path: "max_redirects", As: setting.Number, Flag: "max-redirects", Usage: "redirects followed; -1 follows none; default: 10", Label: "Redirects", Hint: "At most so many; -1: none is followed.", More: true},
			family,
			{Path: "server_name", Flag: "server-name", Usage: serverNameUsage, Label: "Name for TLS", Hint: "Default: the host of the address.", More: true},
			verifying,
		},
		part: setting.At(func(t *Task) **HTTP { return &t.HTTP }, HTTP.withDefaults, HTTP.validate),
		target: func(t Task) Target {
			h := t.HTTP
			g := Target{Line: h.URL, Brief: strings.TrimSpace(h.Method + " " + h.URL), Public: publicURL(h.URL), Verb: h.Method + " ", Same: []any{h.URL}}
			if h.Method != "GET" {
				g.Line = h.Method + " " + h.URL
			}
			return g
		},
		facts: func(t Task) (f setting.Facts) {
			h := t.HTTP
			f.Add(true, "Good status", "%s", strings.Join(h.ExpectStatus, ", "))
			f.Add(h.ExpectBody != "", "Body matches", "%s", h.ExpectBody)
			for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
				f.Add(true, "Header", "%s: %s", name, h.Headers[name])
			}
			if a := h.Auth; a != nil {
				f.Add(a.User != "", "Signs in", "as %s, with a password that is kept secret", a.User)
				f.Add(a.Bearer != "", "Signs in", "with a bearer token that is kept secret")
				f.Add(a.Key != "", "Signs in", "with a certificate whose key is kept secret")
			}
			f.Add(h.SkipVerify, "Certificate", "any is accepted")
			f.Add(h.MaxRedirects < 0, "Redirects", "not followed")
			f.Add(h.MaxRedirects >= 0 && h.MaxRedirects != DefaultMaxRedirects, "Redirects", "at most %d", h.MaxRedirects)
			return f
		},
		details: func(t Task) (f setting.Facts) {
			h := t.HTTP
			f.Add(true, "request", "%s", strings.TrimSpace(h.Method+" "+h.URL))
			f.Add(true, "headers", "%s", setting.Entries(h.Headers, ": "))
			f.Add(true, "body", "%s", h.Body)
			f.Add(true, "expects", "%s", strings.Join(h.ExpectStatus, ", "))
			f.Add(true, "body must match", "%s", h.ExpectBody)
			return f
		},
	},
	{
		Kind: KindPage, Title: "Page", Flag: "page", Text: "Remembers what a part of a page was like, and says when it changes.",
		Values: "latency dns_time connect_time tls_time first_byte transfer ip status header body json jq redirects final_url cert_days text elements",
		Fields: []setting.Field{
			{Path: "url", Flag: "page", Usage: "address of a page whose changes are watched", Label: "Address", Need: true, Hint: "https://example.com/prices"},
			{Path: "css", Flag: "css", Usage: "selector of the elements to watch; default: the whole text", Label: "CSS selector", Hint: "Such as main .price. All elements that match are looked at. Empty, with XPath and JSON path: the whole text.", OneOf: "part"},
			{Path: "xpath", Flag: "xpath", Usage: "instead of --css", Label: "or XPath", Hint: "Such as //table[1]//tr", OneOf: "part"},
			{Path: "json_path", Flag: "json-path", Usage: "instead of --css, for JSON, such as .items[0].price", Label: "or JSON path", Hint: "For JSON, in jq's language, such as .items[0].price", OneOf: "part"},
			{Path: "ignore_css", As: setting.Lines, Flag: "ignore-css", Usage: "selector of elements that are taken out first; may be repeated", Label: "Leave out", Hint: "Selectors of elements that are taken out first, one a line."},
			{Path: "ignore", As: setting.Lines, Flag: "ignore", Usage: "regular expression; what it matches is taken out; may be repeated", Label: "Ignore", Hint: "Regular expressions (RE2), one a line; what they match is taken out of the text."},
			{Path: "mask", As: setting.Set, Flag: "mask", Usage: "what is replaced by a sign that it was there: numbers, dates", Label: "Mask", Options: []string{"numbers", "dates"}, Hint: "What is replaced by a sign that it was there."},
			{Path: "baseline", As: setting.Choice, Flag: "baseline", Usage: "compare with the version that was accepted (pinned) or the one before (rolling); default: rolling", Label: "Compare with", Options: []string{"rolling", "pinned"}, Hint: "rolling: the previous version. pinned: the accepted baseline."},
			{Path: "confirm", As: setting.Duration, Flag: "recheck", Usage: "a change counts when it is still there after so long; negative: at once; default: 10s", Label: "A change counts after", Hint: "When it is still there then. Default: 10s.", More: true},
			{Path: "keep_markup", As: setting.Check, Flag: "keep-markup", Usage: "compare elements with their attributes; default: their text", Label: "Compare the markup", Hint: "Instead of the text.", More: true},
			{Path: "allow_empty", As: setting.Check, Flag: "allow-empty", Usage: "no text is a text like others", Label: "No text is fine", More: true},
			{Path: "keep_versions", As: setting.Number, Label: "Texts kept", Hint: "Default: 50.", More: true},
			headers,
		},
		part: setting.At(func(t *Task) **PageCheck { return &t.Page }, PageCheck.withDefaults, PageCheck.validate),
		target: func(t Task) Target {
			g := t.Page
			return Target{Line: g.URL, Brief: "page " + strings.TrimSpace(g.URL+" "+g.CSS+g.XPath+g.JSONPath), Public: publicURL(g.URL), Verb: "Watch the page ", Same: []any{g.URL}}
		},
		facts: func(t Task) (f setting.Facts) {
			g := t.Page
			f.Add(g.CSS != "", "Selector", "%s", g.CSS)
			f.Add(g.XPath != "", "XPath", "%s", g.XPath)
			f.Add(g.JSONPath != "", "JSON path", "%s", g.JSONPath)
			f.Add(len(g.IgnoreCSS) > 0, "Left out", "%s", strings.Join(g.IgnoreCSS, "\n"))
			f.Add(len(g.Ignore) > 0, "Ignored", "%s", strings.Join(g.Ignore, "\n"))
			f.Add(len(g.Mask) > 0, "Masked", "%s", strings.Join(g.Mask, ", "))
			f.Add(g.Baseline == BaselinePinned, "Compared with", "the version that was accepted")
			f.Add(g.Baseline != BaselinePinned, "Compared with", "the version before")
			f.Add(g.Confirm > 0, "A change counts", "when it is still there after %s", g.Confirm)
			f.Add(true, "Texts kept", "%d", g.KeepVersions)
			return f
		},
	},
	{
		Kind: KindTCP, Title: "TCP", Flag: "tcp", Text: "Opens a connection, and may talk.", Values: "latency dns_time connect_time ip body",
		Fields: []setting.Field{
			{Path: "address", Flag: "tcp", Usage: "host:port to connect to", Label: "Address", Need: true, Hint: "host:port, such as db.example.com:5432"},
			{Path: "send", Flag: "send", Usage: "text to send first", Label: "Send", Hint: `Text sent after connecting; \r, \n and \x00 are read as in Go.`},
			{Path: "expect", Flag: "expect", Usage: "regular expression that must match what comes back", Label: "Answer matches", Hint: "A regular expression (RE2). Empty: a connection is enough."},
			family,
		},
		part:   setting.At(func(t *Task) **TCP { return &t.TCP }, TCP.withDefaults, TCP.validate),
		target: func(t Task) Target { return addressed("tcp", "Connect to ", t.TCP.Address) },
		facts: func(t Task) (f setting.Facts) {
			f.Add(t.TCP.Send != "", "Sends", "%s", t.TCP.Send)
			f.Add(t.TCP.Expect != "", "Answer matches", "%s", t.TCP.Expect)
			return f
		},
	},
	{
		Kind: KindDNS, Title: "DNS", Flag: "dns", Text: "Asks for a record of a name.", Values: "latency dns_time connect_time ip answers rcode ttl",
		Fields: []setting.Field{
			{Path: "name", Flag: "dns", Usage: "name to look up", Label: "Name", Need: true, Hint: "Such as example.com"},
			{Path: "type", As: setting.Choice, Flag: "record", Usage: "type of record, such as A or MX; default: A", Label: "Record", Options: recordTypes},
			{Path: "expect", As: setting.Lines, Flag: "answer", Usage: "answer that must be among those that come; may be repeated", Label: "Answers", Hint: "One a line; all of them must come, in any order. Empty: any answer."},
			{Path: "exact", As: setting.Check, Flag: "exact", Usage: "no other answers may come", Label: "No other answers"},
			{Path: "server", Flag: "resolver", Usage: "DNS server to ask, host or host:port; default: the worker's own", Label: "Resolver", Hint: "Such as 9.9.9.9. Default: the worker's own.", More: true},
			{Path: "tcp", As: setting.Check, Label: "Ask over TCP", More: true},
		},
		part: setting.At(func(t *Task) **DNS { return &t.DNS }, DNS.withDefaults, DNS.validate),
		target: func(t Task) Target {
			d := t.DNS
			return Target{Line: d.Type + " of " + d.Name, Brief: "dns " + strings.TrimSpace(d.Type+" "+d.Name), Public: d.Type + " of " + d.Name, Verb: "Look up ", Same: []any{d.Name, d.Type, d.Server}}
		},
		facts: func(t Task) (f setting.Facts) {
			d, others := t.DNS, ""
			if d.Exact {
				others = "\nand no others"
			}
			f.Add(d.Server != "", "Asks", "%s", d.Server)
			f.Add(len(d.Expect) > 0, "Answers", "%s%s", strings.Join(d.Expect, "\n"), others)
			return f
		},
	},
	{
		Kind: KindTLS, Title: "Certificate", Flag: "tls", Text: "Looks at a certificate and its chain, and when they end.",
		Values: "latency dns_time connect_time tls_time ip cert_days issuer tls_version",
		Fields: []setting.Field{
			{Path: "address", Flag: "tls", Usage: "host[:port] whose certificate is looked at; port 443 if left out", Label: "Address", Need: true, Hint: "host:port; port 443 if left out"},
			{Path: "warn_days", As: setting.Number, Flag: "warn-days", Usage: "degraded when the certificate or registration ends sooner; -1: never; default: 14", Label: "Degraded within", Hint: "Days before a certificate of the chain ends. Default: 14; -1: never."},
			{Path: "fail_days", As: setting.Number, Flag: "fail-days", Usage: "failed when the certificate or registration ends sooner; default: when it has ended", Label: "Failed within", Hint: "Days before a certificate of the chain ends. Default: when it has ended."},
			{Path: "server_name", Flag: "server-name", Usage: serverNameUsage, Label: "Name", Hint: "Default: the host of the address.", More: true},
			{Path: "family", As: setting.Choice, Flag: "family", Usage: family.Usage},
			{Path: "starttls", As: setting.Choice, Flag: "starttls", Usage: "protocol to be asked for TLS first: smtp, imap, pop3, ftp or postgres", Label: "Ask for TLS first", Options: []string{"", "smtp", "imap", "pop3", "ftp", "postgres"}, More: true},
		},
		part: setting.At(func(t *Task) **TLS { return &t.TLS }, TLS.withDefaults, TLS.validate),
		target: func(t Task) Target {
			g := addressed("tls", "Look at the certificate of ", t.TLS.Address)
			g.Same = append(g.Same, t.TLS.ServerName)
			return g
		},
		facts: func(t Task) (f setting.Facts) {
			f.Add(t.TLS.WarnDays > 0, "Degraded", "when a certificate ends within %d days", t.TLS.WarnDays)
			f.Add(t.TLS.FailDays > 0, "Fails", "when a certificate ends within %d days", t.TLS.FailDays)
			f.Add(t.TLS.StartTLS != "", "Asks for TLS by", "%s", t.TLS.StartTLS)
			return f
		},
	},
	{
		Kind: KindPing, Title: "Ping", Flag: "ping", Text: "Sends echo requests.", Values: "latency dns_time ip loss rtt rtt_min rtt_max",
		Fields: []setting.Field{
			{Path: "host", Flag: "ping", Usage: "host to send ICMP echo requests to", Label: "Host", Need: true, Hint: "A name or an address"},
			{Path: "count", As: setting.Number, Flag: "count", Usage: "requests sent; default: 3", Label: "Requests", Hint: "Default: 3."},
			{Path: "max_loss", As: setting.Number, Flag: "max-loss", Usage: "per cent that may stay unanswered; default: 0", Label: "Loss", Hint: "Per cent of the requests that may stay unanswered. Default: 0."},
			family,
		},
		part:   setting.At(func(t *Task) **Ping { return &t.Ping }, Ping.withDefaults, Ping.validate),
		target: func(t Task) Target { return addressed("ping", "Ping ", t.Ping.Host) },
		facts: func(t Task) (f setting.Facts) {
			f.Add(true, "Requests", "%d, of which %d %% may be lost", t.Ping.Count, t.Ping.MaxLoss)
			return f
		},
	},
	{
		Kind: KindGRPC, Title: "gRPC", Flag: "grpc", Text: "Asks the standard health service.", Values: "latency dns_time connect_time tls_time ip status cert_days",
		Fields: []setting.Field{
			{Path: "address", Flag: "grpc", Usage: "host:port whose health service is asked", Label: "Address", Need: true, Hint: "host:port"},
			{Path: "service", Flag: "service", Usage: "service to ask for; default: the server as a whole", Label: "Service", Hint: "Default: the server as a whole."},
			{Path: "plaintext", As: setting.Check, Flag: "plaintext", Usage: "without TLS", Label: "Without TLS", More: true},
			{Path: "server_name", Flag: "server-name", Usage: serverNameUsage, Label: "Name for TLS", More: true},
			verifying,
		},
		part: setting.At(func(t *Task) **GRPC { return &t.GRPC }, nil, GRPC.validate),
		target: func(t Task) Target {
			g, both := t.GRPC, strings.TrimSpace(t.GRPC.Address+" "+t.GRPC.Service)
			return Target{Line: g.Address, Brief: "grpc " + both, Public: both, Verb: "Ask the health service of ", Same: []any{g.Address, g.Service}}
		},
		facts: func(t Task) (f setting.Facts) {
			f.Add(t.GRPC.Service != "", "Service", "%s", t.GRPC.Service)
			f.Add(t.GRPC.Plaintext, "TLS", "none")
			return f
		},
	},
	{
		Kind: KindWebSocket, Title: "WebSocket", Flag: "websocket", Text: "Opens a WebSocket, and may talk.",
		Values: "latency dns_time connect_time tls_time first_byte ip status header body json jq cert_days",
		Fields: []setting.Field{
			{Path: "url", Flag: "websocket", Usage: "ws or wss address", Label: "Address", Need: true, Hint: "wss://example.com/socket"},
			{Path: "send", Flag: "send", Usage: "text to send first", Label: "Send", Hint: "A text message, after the upgrade."},
			{Path: "expect", Flag: "expect", Usage: "regular expression that must match what comes back", Label: "A message matches", Hint: "A regular expression (RE2)."},
			headers,
		},
		part: setting.At(func(t *Task) **WebSocket { return &t.WebSocket }, nil, WebSocket.validate),
		target: func(t Task) Target {
			w := t.WebSocket
			return Target{Line: w.URL, Brief: w.URL, Public: publicURL(w.URL), Verb: "Open a WebSocket to ", Same: []any{w.URL}}
		},
		facts: func(t Task) (f setting.Facts) {
			f.Add(t.WebSocket.Send != "", "Sends", "%s", t.WebSocket.Send)
			f.Add(t.WebSocket.Expect != "", "Message matches", "%s", t.WebSocket.Expect)
			return f
		},
	},
	udpKind,
	domainKind,
	{
		Kind: KindHeartbeat, Title: "Heartbeat", Flag: "heartbeat", Text: "Waits to be called by a cron job, a backup or a device, and is down when no call comes.",
		Fields: []setting.Field{
			{As: setting.Check, Flag: "heartbeat", Usage: "wait to be called, every --every or at --cron"},
			{Path: "grace", As: setting.Duration, Flag: "grace", Usage: "how long after its time a call may come; default: a fifth of --every", Label: "Grace", Hint: "How late a call may be. Default: a fifth of the time between two, at least 10s."},
			{Path: "max_runtime", As: setting.Duration, Flag: "max-runtime", Usage: "longest time from a start to its end; default: no limit", Label: "Longest run", Hint: "From a start to its end. Default: no limit."},
		},
	},
	{
		Kind: KindCycle, Does: "Runs other tasks, strictly one after another.",
		part:   setting.At(func(t *Task) **Cycle { return &t.Cycle }, Cycle.WithDefaults, Cycle.validate),
		target: func(t Task) Target { return Target{Line: string(KindCycle), Brief: t.Cycle.names()} },
		details: func(t Task) (f setting.Facts) {
			f.Add(true, "members", "%s", t.Cycle.names())
			return f
		},
	},
	{
		Kind: KindWorkflow, Does: "Runs steps as a graph: each begins when those that it needs have ended.",
		part:   setting.At(func(t *Task) **Workflow { return &t.Workflow }, Workflow.WithDefaults, Workflow.validate),
		target: func(t Task) Target { return Target{Line: string(KindWorkflow), Brief: t.Workflow.names()} },
		details: func(t Task) (f setting.Facts) {
			f.Add(true, "steps", "%s", t.Workflow.names())
			return f
		},
	},
}

// Kinds lists all kinds that a worker runs, sorted by name.
var Kinds = sorted(KindHeartbeat, KindCycle, KindWorkflow)

// TaskKinds lists all kinds of tasks. No worker runs a cycle or workflow: the engine
// starts their members and steps.
var TaskKinds = sorted(KindHeartbeat)

func sorted(without ...Kind) (list []Kind) {
	for _, k := range KindTable {
		if !slices.Contains(without, k.Kind) {
			list = append(list, k.Kind)
		}
	}
	slices.Sort(list)
	return list
}

// Forms returns the kinds with a form for a new task, kinds with settings first.
func Forms() []KindInfo {
	list := slices.DeleteFunc(slices.Clone(KindTable), func(k KindInfo) bool { return k.Form == "" })
	slices.SortStableFunc(list, func(a, b KindInfo) int {
		return cmp.Compare(min(len(b.Fields), 1), min(len(a.Fields), 1))
	})
	return list
}

// MonitorKinds returns the kinds of monitors, checks over the network first.
func MonitorKinds() []KindInfo {
	list := slices.DeleteFunc(slices.Clone(KindTable), func(k KindInfo) bool { return k.Flag == "" })
	slices.SortStableFunc(list, func(a, b KindInfo) int {
		return cmp.Compare(min(len(b.Values), 1), min(len(a.Values), 1))
	})
	return list
}

// Info returns the row of a kind. For an unknown kind it has only the name.
func (k Kind) Info() KindInfo {
	if i := slices.IndexFunc(KindTable, func(row KindInfo) bool { return row.Kind == k }); i >= 0 {
		return KindTable[i]
	}
	return KindInfo{Kind: k}
}

// Given reports whether a task has settings of this kind.
func (k KindInfo) Given(t Task) bool { return k.part.Given != nil && k.part.Given(&t) }

// Edit replaces the settings of this kind in the task by a copy, or by new ones, and returns a pointer to them. It returns
// nil for a kind without settings.
func (k KindInfo) Edit(t *Task) any {
	if k.part.Edit == nil {
		return nil
	}
	return k.part.Edit(t)
}

// Target returns what the task runs or checks.
func (t Task) Target() Target {
	for _, k := range KindTable {
		if k.Given(t) {
			return k.target(t)
		}
	}
	return Target{}
}

// Facts returns the settings of the task's kind for people, besides the target.
func (t Task) Facts() setting.Facts {
	for _, k := range KindTable {
		if k.Given(t) && k.facts != nil {
			return k.facts(t)
		}
	}
	return nil
}

// Details returns the settings of the task's kind for the command line.
func (t Task) Details() (f setting.Facts) {
	for _, k := range KindTable {
		if k.Given(t) && k.details != nil {
			return k.details(t)
		}
	}
	target := t.Target().Brief
	f.Add(target != "", "target", "%s", target)
	return f
}

// addressed returns the target of a kind that has only an address.
func addressed(kind, verb, address string) Target {
	return Target{Line: address, Brief: fmt.Sprintf("%s %s", kind, address), Public: address, Verb: verb, Same: []any{address}}
}

// publicURL returns an address without user, query and fragment.
func publicURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// RunByEngine reports whether the engine runs jobs of a kind, by starting their members or steps, and not a worker.
func RunByEngine(k Kind) bool { return k == KindCycle || k == KindWorkflow }
