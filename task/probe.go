package task

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// HTTP is one request. Every address, including those of redirects, goes
// through the worker's guarded dialer.
type HTTP struct {
	Method        string            `json:"method,omitempty" doc:"Default: GET"`
	URL           string            `json:"url" doc:"http or https"`
	Headers       map[string]string `json:"headers,omitempty"`
	Body          string            `json:"body,omitempty" doc:"Default: the job's input as JSON, where the method carries a body"`
	Auth          *HTTPAuth         `json:"auth,omitempty" doc:"Who asks; not sent on to another host"`
	Family        IPFamily          `json:"family,omitempty" enum:"any,ipv4,ipv6" doc:"Which addresses of the host are tried; default: any"`
	Proxy         string            `json:"proxy,omitempty" doc:"URL of an HTTP proxy; it must be reachable by the worker's rules"`
	ServerName    string            `json:"server_name,omitempty" doc:"Name for TLS and its certificate; default: the URL's host"`
	SkipVerify    bool              `json:"skip_verify,omitempty" doc:"Accept any certificate; its days are reported all the same"`
	CA            string            `json:"ca,omitempty" doc:"PEM of the authorities to trust instead of the system's"`
	KeepAlive     bool              `json:"keep_alive,omitempty" doc:"Use a connection that is open already, for an hour at most; default: a cold one, which is what a visitor meets"`
	ExpectStatus  []string          `json:"expect_status,omitempty" doc:"Codes and ranges that mean success; default: 200-299"`
	ExpectBody    string            `json:"expect_body,omitempty" doc:"Regular expression (RE2) that the body must match"`
	MaxBody       int               `json:"max_body,omitempty" doc:"Bytes read of a response; more is an error; default: 1 MiB; at most 64 MiB"`
	MaxRedirects  int               `json:"max_redirects,omitempty" doc:"Redirects followed; default: 10; -1 follows none"`
	KeepBodyBytes int               `json:"keep_body_bytes,omitempty" doc:"Bytes of the body kept in the job's output; default: 4 KiB; at most 256 KiB; -1 keeps none"`
}

// HTTPAuth authenticates a request: by a user, a token, or a certificate.
type HTTPAuth struct {
	User     string      `json:"user,omitempty" doc:"For basic authentication"`
	Password core.Secret `json:"password,omitempty" doc:"For basic authentication"`
	Bearer   core.Secret `json:"bearer,omitempty" doc:"Token of an Authorization: Bearer header"`
	Cert     string      `json:"cert,omitempty" doc:"PEM of a client certificate"`
	Key      core.Secret `json:"key,omitempty" doc:"PEM of the certificate's private key"`
}

// IPFamily selects the addresses of a name to dial.
type IPFamily string

// The families. A probe dials one address and does not race several, because a
// target that is half up must not count as up.
const (
	FamilyAny  IPFamily = "any"
	FamilyIPv4 IPFamily = "ipv4"
	FamilyIPv6 IPFamily = "ipv6"
)

// TCP opens a connection, and optionally sends data and expects an answer.
type TCP struct {
	Address string   `json:"address" doc:"host:port"`
	Family  IPFamily `json:"family,omitempty" enum:"any,ipv4,ipv6" doc:"Default: any"`
	Send    string   `json:"send,omitempty" doc:"Text sent after connecting; \\r, \\n and \\x00 are read as in Go"`
	Expect  string   `json:"expect,omitempty" doc:"Regular expression (RE2) that must match what comes back within the timeout"`
	MaxRead int      `json:"max_read,omitempty" doc:"Bytes read at most; default: 64 KiB; at most 1 MiB"`
}

// DNS queries a record.
type DNS struct {
	Name   string   `json:"name" doc:"Such as example.com"`
	Type   string   `json:"type,omitempty" enum:"A,AAAA,CNAME,MX,NS,TXT,SOA,SRV,CAA,PTR" doc:"Default: A"`
	Server string   `json:"server,omitempty" doc:"Resolver as host or host:port; default: the worker's own"`
	Expect []string `json:"expect,omitempty" doc:"Answers that must be among those that come, in any order; an MX as '10 mail.example.com.'"`
	Exact  bool     `json:"exact,omitempty" doc:"No other answers may come"`
	TCP    bool     `json:"tcp,omitempty" doc:"Ask over TCP; default: UDP, then TCP when the answer is cut"`
}

// TLS checks a certificate and its chain.
type TLS struct {
	Address    string   `json:"address" doc:"host:port; port 443 if left out"`
	ServerName string   `json:"server_name,omitempty" doc:"Default: the address's host"`
	Family     IPFamily `json:"family,omitempty" enum:"any,ipv4,ipv6" doc:"Default: any"`
	StartTLS   string   `json:"starttls,omitempty" enum:"smtp,imap,pop3,ftp,postgres" doc:"Protocol to be asked for TLS first; default: TLS at once"`
	CA         string   `json:"ca,omitempty" doc:"PEM of the authorities to trust instead of the system's"`
	WarnDays   int      `json:"warn_days,omitempty" doc:"Degraded when a certificate of the chain ends sooner; default: 14; -1: never"`
	FailDays   int      `json:"fail_days,omitempty" doc:"Failed when a certificate of the chain ends sooner; default: 0, when it has ended"`
}

// Ping sends ICMP echo requests, if the system of the worker allows it.
type Ping struct {
	Host    string   `json:"host"`
	Family  IPFamily `json:"family,omitempty" enum:"any,ipv4,ipv6" doc:"Default: any"`
	Count   int      `json:"count,omitempty" doc:"Requests sent; default: 3; at most 20"`
	MaxLoss int      `json:"max_loss,omitempty" doc:"Per cent of the requests that may stay unanswered; default: 0"`
}

// GRPC queries the standard health service (grpc.health.v1).
type GRPC struct {
	Address    string `json:"address" doc:"host:port"`
	Service    string `json:"service,omitempty" doc:"Default: the server as a whole"`
	Plaintext  bool   `json:"plaintext,omitempty" doc:"Without TLS"`
	ServerName string `json:"server_name,omitempty" doc:"Default: the address's host"`
	CA         string `json:"ca,omitempty" doc:"PEM of the authorities to trust instead of the system's"`
	SkipVerify bool   `json:"skip_verify,omitempty" doc:"Accept any certificate"`
}

// WebSocket requests an upgrade, and optionally sends data and expects an answer.
type WebSocket struct {
	URL     string            `json:"url" doc:"ws or wss"`
	Headers map[string]string `json:"headers,omitempty"`
	Send    string            `json:"send,omitempty" doc:"Text message sent after the upgrade"`
	Expect  string            `json:"expect,omitempty" doc:"Regular expression (RE2) that a message must match within the timeout"`
}

// Limits of probes.
const (
	MaxSettings     = 256 << 10 // bytes of the settings of a task's kind, as JSON
	MaxConditions   = 50
	MaxCondition    = 2 << 10
	DefaultMaxBody  = 1 << 20
	DefaultMaxPage  = 5 << 20
	DefaultMaxRead  = 64 << 10
	MaxPageText     = 1 << 20 // bytes of a page's text that are stored and compared
	DefaultWarnDays = 14
	DefaultPings    = 3
	DefaultVersions = 50
	DefaultRecheck  = core.Duration(10 * time.Second)
)

// Given returns the kinds whose settings are set, sorted by name.
func (t Task) Given() (given []Kind) {
	for _, k := range TaskKinds {
		if k.Info().Given(t) {
			given = append(given, k)
		}
	}
	return given
}

// impliedKind returns the kind whose settings are set.
func (t Task) impliedKind() Kind {
	for _, k := range t.Given() {
		return k
	}
	return KindFunc
}

func (t Task) withKindDefaults() Task {
	for _, k := range KindTable {
		if k.part.Fill != nil {
			k.part.Fill(&t)
		}
	}
	return t
}

func (c TCP) withDefaults() TCP {
	c.Family, c.MaxRead = core.Or(c.Family, FamilyAny), core.Or(c.MaxRead, DefaultMaxRead)
	return c
}

func (d DNS) withDefaults() DNS {
	d.Type = strings.ToUpper(core.Or(d.Type, "A"))
	return d
}

func (c TLS) withDefaults() TLS {
	if _, _, err := net.SplitHostPort(c.Address); err != nil && c.Address != "" {
		c.Address = net.JoinHostPort(strings.Trim(c.Address, "[]"), "443")
	}
	c.Family, c.WarnDays = core.Or(c.Family, FamilyAny), core.Or(c.WarnDays, DefaultWarnDays)
	return c
}

func (g Ping) withDefaults() Ping {
	g.Family, g.Count = core.Or(g.Family, FamilyAny), core.Or(g.Count, DefaultPings)
	return g
}

func (h HTTP) withDefaults() HTTP {
	h.Method = strings.ToUpper(core.Or(h.Method, "GET"))
	h.Family = core.Or(h.Family, FamilyAny)
	h.MaxBody = core.Or(h.MaxBody, DefaultMaxBody)
	h.MaxRedirects = core.Or(h.MaxRedirects, DefaultMaxRedirects)
	h.KeepBodyBytes = core.Or(h.KeepBodyBytes, DefaultKeepBody)
	if len(h.ExpectStatus) == 0 {
		h.ExpectStatus = []string{"200-299"}
	}
	return h
}

// validateKind adds to p the problems of the settings of the kind.
func (t Task) validateKind(p *core.Problems) {
	if !slices.Contains(TaskKinds, t.Kind) {
		p.Add("kind", string(t.Kind), "is not a kind that this Belfry knows", "one of "+core.List(TaskKinds))
		return
	}
	for _, k := range TaskKinds {
		switch info := k.Info(); {
		case k == t.Kind && info.part.Given != nil && !info.Given(t):
			p.Add(string(k), "", "is missing for a task of kind "+string(k), "")
		case k != t.Kind && info.Given(t):
			p.Add(string(k), "", "does not belong to a task of kind "+string(t.Kind), "a task has one kind")
		}
	}
	t.validateConditions(p)
	if info := t.Kind.Info(); info.Given(t) {
		p.Nest(string(t.Kind), info.part.Validate(&t))
	}
	// Each claim sends a copy of the settings of the kind, and the audit keeps all versions.
	t.Input, t.Conditions, t.Warnings, t.Description = nil, nil, nil, ""
	if whole, err := json.Marshal(t); err == nil && len(whole) > MaxSettings {
		p.Add(string(t.Kind), fmt.Sprintf("%d bytes", len(whole)), fmt.Sprintf("is over the limit of %d bytes, as JSON", MaxSettings),
			"keep long scripts and data in a file that the task reads, or in the input")
	}
}

func (t Task) validateConditions(p *core.Problems) {
	for field, list := range map[string][]string{"conditions": t.Conditions, "warnings": t.Warnings} {
		p.AtMost(field, len(list), MaxConditions)
		if len(list) > 0 && t.Kind.Info().Values == "" {
			p.Add(field, "", "cannot be judged for kind "+string(t.Kind), "its own end says whether it went well")
		}
		for i, text := range list {
			if path := fmt.Sprintf("%s[%d]", field, i); text == "" || len(text) > MaxCondition {
				p.Add(path, text, fmt.Sprintf("is not an expression of 1 to %d bytes", MaxCondition), "")
			}
		}
	}
}

func (h HTTP) validate() error {
	var p core.Problems
	core.CheckURL(&p, "url", h.URL, "http", "https")
	if !methodRule.MatchString(h.Method) {
		p.Add("method", h.Method, "is not a method", "such as GET or POST")
	}
	core.CheckHeaders(&p, h.Headers)
	checkFamily(&p, h.Family)
	if h.Proxy != "" {
		core.CheckURL(&p, "proxy", h.Proxy, "http", "https")
	}
	if h.Auth != nil {
		p.Nest("auth", h.Auth.validate())
	}
	if _, err := ParseStatusRanges(h.ExpectStatus); err != nil {
		p.Add("expect_status", strings.Join(h.ExpectStatus, ","), err.Error(), "such as 200-299 or 404")
	}
	checkRegexp(&p, "expect_body", h.ExpectBody)
	checkBody(&p, h.MaxBody)
	if h.MaxRedirects < -1 || h.MaxRedirects > 50 {
		p.Addf("max_redirects", h.MaxRedirects, "is outside -1 to 50")
	}
	if h.KeepBodyBytes < -1 || h.KeepBodyBytes > core.MaxInput {
		p.Addf("keep_body_bytes", h.KeepBodyBytes, "is outside -1 to %d", core.MaxInput)
	}
	return p.Err("http")
}

func (a HTTPAuth) validate() error {
	var p core.Problems
	if a.Bearer != "" && (a.User != "" || a.Password != "") {
		p.Add("bearer", "", "cannot stand beside user and password", "keep one of them")
	}
	if strings.Contains(a.User, ":") {
		p.Add("user", a.User, "has a colon, which basic authentication cannot carry", "")
	}
	if a.Bearer != core.Redacted && strings.ContainsAny(string(a.Bearer), "\r\n\x00 ") {
		p.Add("bearer", "", "has characters that no header may have", "")
	}
	if (a.Cert == "") != (a.Key == "") {
		p.Add("cert", "", "and key belong together", "give the PEM of both")
	}
	return p.Err("auth")
}

func (t TCP) validate() error {
	var p core.Problems
	checkAddress(&p, "address", t.Address)
	checkFamily(&p, t.Family)
	checkRegexp(&p, "expect", t.Expect)
	checkEscapes(&p, "send", t.Send)
	if len(t.Send) > DefaultMaxRead {
		p.Addf("send", "", "has more than %d bytes", DefaultMaxRead)
	}
	if t.MaxRead < 1 || t.MaxRead > 1<<20 {
		p.Addf("max_read", t.MaxRead, "is outside 1 to %d bytes", 1<<20)
	}
	return p.Err("tcp")
}

var recordTypes = []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"}

func (d DNS) validate() error {
	var p core.Problems
	if d.Name == "" || len(d.Name) > 253 || strings.ContainsAny(d.Name, " /:") {
		p.Add("name", d.Name, "is not a domain name", "such as example.com")
	}
	if !slices.Contains(recordTypes, d.Type) {
		p.Add("type", d.Type, "is not a record type that can be asked for", "one of "+strings.Join(recordTypes, ", "))
	}
	if d.Server != "" && strings.ContainsAny(d.Server, " /") {
		p.Add("server", d.Server, "is not a host or host:port", "such as 9.9.9.9 or ns1.example.com:53")
	}
	if d.Exact && len(d.Expect) == 0 {
		p.Add("exact", "true", "means nothing without expect", "")
	}
	return p.Err("dns")
}

func (t TLS) validate() error {
	var p core.Problems
	checkAddress(&p, "address", t.Address)
	checkFamily(&p, t.Family)
	switch t.StartTLS {
	case "", "smtp", "imap", "pop3", "ftp", "postgres":
	default:
		p.Add("starttls", t.StartTLS, "is not a protocol that can be asked", "one of smtp, imap, pop3, ftp, postgres")
	}
	if t.WarnDays < -1 || t.WarnDays > 3650 || t.FailDays < 0 || t.FailDays > 3650 {
		p.Addf("warn_days", t.WarnDays, "or fail_days is outside 0 to 3650")
	}
	return p.Err("tls")
}

func (g Ping) validate() error {
	var p core.Problems
	if g.Host == "" || strings.ContainsAny(g.Host, " /@") {
		p.Add("host", g.Host, "is not a host", "a name or an address")
	}
	checkFamily(&p, g.Family)
	if g.Count < 1 || g.Count > 20 {
		p.Addf("count", g.Count, "is outside 1 to 20")
	}
	if g.MaxLoss < 0 || g.MaxLoss > 99 {
		p.Addf("max_loss", g.MaxLoss, "is outside 0 to 99")
	}
	return p.Err("ping")
}

func (g GRPC) validate() error {
	var p core.Problems
	checkAddress(&p, "address", g.Address)
	if g.Plaintext && (g.CA != "" || g.SkipVerify || g.ServerName != "") {
		p.Add("plaintext", "true", "cannot stand beside settings of TLS", "")
	}
	return p.Err("grpc")
}

func (w WebSocket) validate() error {
	var p core.Problems
	core.CheckURL(&p, "url", w.URL, "ws", "wss")
	core.CheckHeaders(&p, w.Headers)
	checkRegexp(&p, "expect", w.Expect)
	return p.Err("websocket")
}

func checkAddress(p *core.Problems, field, text string) {
	host, port, err := net.SplitHostPort(text)
	n, numErr := strconv.Atoi(port)
	if err != nil || host == "" || numErr != nil || n < 1 || n > 65535 {
		p.Add(field, text, "is not host:port", "such as db.example.com:5432 or [2001:db8::1]:22")
	}
}

func checkEscapes(p *core.Problems, field, text string) {
	if _, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`); err != nil && !strings.ContainsAny(text, "\r\n") {
		p.Add(field, text, "has a backslash that means nothing", `write \r, \n, \t, \x00 or \\`)
	}
}

func checkFamily(p *core.Problems, f IPFamily) {
	if f != FamilyAny && f != FamilyIPv4 && f != FamilyIPv6 {
		p.Add("family", string(f), "is not a family", "one of any, ipv4, ipv6")
	}
}

func checkRegexp(p *core.Problems, field, text string) {
	if _, err := regexp.Compile(text); err != nil {
		p.Add(field, text, err.Error(), "RE2 syntax")
	}
}

func checkBody(p *core.Problems, n int) {
	if n < 1 || n > MaxOutputLimit {
		p.Addf("max_body", n, "is outside 1 to %d bytes", MaxOutputLimit)
	}
}
