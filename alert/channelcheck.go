package alert

import (
	"crypto/x509"
	"fmt"
	"maps"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// Validate returns the problems of a channel that has its defaults as one error, or nil.
// The error never contains a secret. The placeholder of a kept secret is valid:
// see [Channel.CheckSecrets].
func (c Channel) Validate(_ time.Time) error {
	var p core.Problems
	core.CheckDocument(&p, c.Namespace, c.Name, c.Description)
	title.Check(&p, "title", c.Title)
	var names, given []string
	for _, k := range Kinds {
		names = append(names, k.Name)
		if k.Given(c) {
			given = append(given, k.Name)
			p.Nest(k.Name, k.part.Validate(&c))
		}
	}
	switch {
	case len(given) == 0:
		p.Add("channel", "", "has no settings of any kind", "exactly one of "+strings.Join(names, ", "))
	case len(given) > 1:
		p.Add(given[1], "", "cannot stand beside "+given[0], "a channel has one kind; make two channels, and name both in the rule")
	}
	return p.Err(fmt.Sprintf("channel %q", c.Name))
}

func (w WebhookChannel) validate() error {
	var p core.Problems
	checkSecretURL(&p, "url", w.URL)
	p.AtMost("headers", len(w.Headers), MaxHeaders)
	for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
		core.CheckHeaders(&p, map[string]string{name: string(w.Headers[name])})
		if strings.HasPrefix(strings.ToLower(name), "belfry-") {
			p.Add("headers", name, "is reserved", "names that start with Belfry- are set by the node")
		}
	}
	return p.Err("webhook")
}

// maxCA is the largest certificate bundle of a channel, in bytes.
const maxCA = 64 << 10

func (e EmailChannel) validate() error {
	var p core.Problems
	if e.Host == "" || strings.ContainsAny(e.Host, " /@\r\n") {
		p.Add("host", e.Host, "is not a host", "a name or an address; the port is a field of its own")
	}
	if e.Port < 1 || e.Port > 65535 {
		p.Addf("port", e.Port, "is outside 1 to 65535")
	}
	switch e.TLS {
	case "starttls", "implicit", "opportunistic", "none":
	default:
		p.Add("tls", e.TLS, "is not a choice", "one of starttls, implicit, opportunistic, none")
	}
	switch {
	case e.CA == "":
	case e.TLS == "none":
		p.Add("ca", "", "has no use without TLS", "leave it out, or tls: starttls")
	case len(e.CA) > maxCA:
		p.Addf("ca", "", "has more than %d bytes", maxCA)
	case !x509.NewCertPool().AppendCertsFromPEM([]byte(e.CA)):
		p.Add("ca", "", "holds no certificate", "the PEM of the authority that signed the server's certificate")
	}
	if (e.User == "") != (e.Password == "") {
		p.Add("user", e.User, "and password belong together", "give both, or neither")
	}
	if e.Password != "" && (e.TLS == "none" || e.TLS == "opportunistic") && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, e.Host) {
		p.Add("tls", e.TLS, "would send the password for everyone to read", "starttls or implicit; or leave user and password out")
	}
	checkMail(&p, "from", e.From)
	if len(e.To) == 0 {
		p.Add("to", "", "is missing", "name at least one address")
	}
	if len(e.To) > MaxRecipients {
		p.AtMost("to", len(e.To), MaxRecipients)
		return p.Err("email")
	}
	for i, to := range e.To {
		checkMail(&p, fmt.Sprintf("to[%d]", i), to)
	}
	return p.Err("email")
}

var (
	telegramToken = regexp.MustCompile(`^[0-9]+:[a-zA-Z0-9_-]+$`)
	telegramChat  = regexp.MustCompile(`^(-?[0-9]+|@[a-zA-Z0-9_]+)$`)
	ntfyTopic     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

func (t TelegramChannel) validate() error {
	var p core.Problems
	if t.Token != core.Redacted && !telegramToken.MatchString(string(t.Token)) {
		p.Add("token", "", "is not the token of a bot", "BotFather gives it, such as 123456:ABC-DEF")
	}
	if !telegramChat.MatchString(t.Chat) {
		p.Add("chat", t.Chat, "is not a chat", "its number, in quotes, or @name of a channel")
	}
	core.CheckURL(&p, "api", t.API, "http", "https")
	return p.Err("telegram")
}

func (d PagerDutyChannel) validate() error {
	var p core.Problems
	checkToken(&p, "routing_key", d.RoutingKey)
	if d.RoutingKey == "" {
		p.Add("routing_key", "", "is missing", "the integration key of a service with Events API v2")
	}
	core.CheckURL(&p, "api", d.API, "http", "https")
	return p.Err("pagerduty")
}

func (n NtfyChannel) validate() error {
	var p core.Problems
	core.CheckURL(&p, "server", n.Server, "http", "https")
	if !ntfyTopic.MatchString(n.Topic) {
		p.Add("topic", n.Topic, "is not a topic", "1 to 64 letters, digits, dashes and underscores")
	}
	checkToken(&p, "token", n.Token)
	return p.Err("ntfy")
}

func (m CommandChannel) validate() error {
	var p core.Problems
	if len(m.Argv) == 0 || m.Argv[0] == "" {
		p.Add("argv", "", "is missing", "name the program and its arguments, such as [/usr/local/bin/page, night]")
	}
	for _, arg := range m.Argv {
		core.CheckNUL(&p, "argv", arg)
	}
	if m.Timeout < core.Duration(time.Second) || m.Timeout > MaxCommandTimeout {
		p.Addf("timeout", m.Timeout, "is outside 1s to %s", MaxCommandTimeout)
	}
	return p.Err("command")
}

// validateHook checks a kind whose only setting is a URL that contains a secret.
func validateHook(kind string, url core.Secret) error {
	var p core.Problems
	checkSecretURL(&p, "url", url)
	return p.Err(kind)
}

// checkSecretURL is checkURL for a URL that must not appear in errors.
func checkSecretURL(p *core.Problems, field string, text core.Secret) {
	if text == core.Redacted {
		return
	}
	var found core.Problems
	core.CheckURL(&found, field, string(text), "http", "https")
	for _, f := range found {
		if strings.Contains(f.Hint, "auth") { // channels have no such setting; their headers are secrets
			f.Hint = "put an Authorization header into headers"
		}
		p.Add(field, "", f.Message, f.Hint)
	}
}

// checkToken checks that a token is valid in an HTTP header.
func checkToken(p *core.Problems, field string, token core.Secret) {
	if token != core.Redacted && strings.ContainsAny(string(token), " \t\r\n\x00") {
		p.Add(field, "", "has a character that no token has", "is there a space or a line end?")
	}
}

func checkMail(p *core.Problems, field, text string) {
	if _, err := mail.ParseAddress(text); err != nil || strings.ContainsAny(text, "\r\n\x00") {
		p.Add(field, text, "is not an address", "such as ops@example.com, or Ops <ops@example.com>")
	}
}
