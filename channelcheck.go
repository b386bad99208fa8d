package belfry

import (
	"crypto/x509"
	"fmt"
	"maps"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Validate says everything that is wrong with a channel that has its defaults.
// A secret is never repeated in what it says, and one that stands for the one
// that is kept passes: see [Channel.CheckSecrets].
func (c Channel) Validate(_ time.Time) error {
	var p problems
	checkDocument(&p, c.Namespace, c.Name, c.Description)
	var names, given []string
	for _, k := range c.kinds() {
		names = append(names, k.name)
		if k.given {
			given = append(given, k.name)
			p.nest(k.name, k.validate())
		}
	}
	switch {
	case len(given) == 0:
		p.add("channel", "", "has no settings of any kind", "exactly one of "+strings.Join(names, ", "))
	case len(given) > 1:
		p.add(given[1], "", "cannot stand beside "+given[0], "a channel has one kind; make two channels, and name both in the rule")
	}
	return p.err(fmt.Sprintf("channel %q", c.Name))
}

func (w WebhookChannel) validate() error {
	var p problems
	checkSecretURL(&p, "url", w.URL)
	if len(w.Headers) > MaxHeaders {
		p.addf("headers", len(w.Headers), "has more than %d entries", MaxHeaders)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
		checkHeaders(&p, map[string]string{name: string(w.Headers[name])})
		if strings.HasPrefix(strings.ToLower(name), "belfry-") {
			p.add("headers", name, "is reserved", "names that start with Belfry- are set by the node")
		}
	}
	return p.err("webhook")
}

// maxCA bounds the authorities of a channel, in bytes.
const maxCA = 64 << 10

func (e EmailChannel) validate() error {
	var p problems
	if e.Host == "" || strings.ContainsAny(e.Host, " /@\r\n") {
		p.add("host", e.Host, "is not a host", "a name or an address; the port is a field of its own")
	}
	if e.Port < 1 || e.Port > 65535 {
		p.addf("port", e.Port, "is outside 1 to 65535")
	}
	switch e.TLS {
	case "starttls", "implicit", "opportunistic", "none":
	default:
		p.add("tls", e.TLS, "is not a choice", "one of starttls, implicit, opportunistic, none")
	}
	switch {
	case e.CA == "":
	case e.TLS == "none":
		p.add("ca", "", "has no use without TLS", "leave it out, or tls: starttls")
	case len(e.CA) > maxCA:
		p.addf("ca", len(e.CA), "has more than %d bytes", maxCA)
	case !x509.NewCertPool().AppendCertsFromPEM([]byte(e.CA)):
		p.add("ca", "", "holds no certificate", "the PEM of the authority that signed the server's certificate")
	}
	if (e.User == "") != (e.Password == "") {
		p.add("user", e.User, "and password belong together", "give both, or neither")
	}
	if e.Password != "" && (e.TLS == "none" || e.TLS == "opportunistic") && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, e.Host) {
		p.add("tls", e.TLS, "would send the password for everyone to read", "starttls or implicit; or leave user and password out")
	}
	checkMail(&p, "from", e.From)
	if len(e.To) == 0 {
		p.add("to", "", "is missing", "name at least one address")
	}
	if len(e.To) > MaxRecipients {
		p.addf("to", len(e.To), "has more than %d entries", MaxRecipients)
		return p.err("email")
	}
	for i, to := range e.To {
		checkMail(&p, fmt.Sprintf("to[%d]", i), to)
	}
	return p.err("email")
}

var (
	telegramToken = regexp.MustCompile(`^[0-9]+:[a-zA-Z0-9_-]+$`)
	telegramChat  = regexp.MustCompile(`^(-?[0-9]+|@[a-zA-Z0-9_]+)$`)
	ntfyTopic     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

func (t TelegramChannel) validate() error {
	var p problems
	if t.Token != Redacted && !telegramToken.MatchString(string(t.Token)) {
		p.add("token", "", "is not the token of a bot", "BotFather gives it, such as 123456:ABC-DEF")
	}
	if !telegramChat.MatchString(t.Chat) {
		p.add("chat", t.Chat, "is not a chat", "its number, in quotes, or @name of a channel")
	}
	checkURL(&p, "api", t.API, "http", "https")
	return p.err("telegram")
}

func (d PagerDutyChannel) validate() error {
	var p problems
	checkToken(&p, "routing_key", d.RoutingKey)
	if d.RoutingKey == "" {
		p.add("routing_key", "", "is missing", "the integration key of a service with Events API v2")
	}
	checkURL(&p, "api", d.API, "http", "https")
	return p.err("pagerduty")
}

func (n NtfyChannel) validate() error {
	var p problems
	checkURL(&p, "server", n.Server, "http", "https")
	if !ntfyTopic.MatchString(n.Topic) {
		p.add("topic", n.Topic, "is not a topic", "1 to 64 letters, digits, dashes and underscores")
	}
	checkToken(&p, "token", n.Token)
	return p.err("ntfy")
}

func (m CommandChannel) validate() error {
	var p problems
	if len(m.Argv) == 0 || m.Argv[0] == "" {
		p.add("argv", "", "is missing", "name the program and its arguments, such as [/usr/local/bin/page, night]")
	}
	for _, arg := range m.Argv {
		checkNUL(&p, "argv", arg)
	}
	if m.Timeout < Duration(time.Second) || m.Timeout > MaxCommandTimeout {
		p.addf("timeout", m.Timeout, "is outside 1s to %s", MaxCommandTimeout)
	}
	return p.err("command")
}

// validateHook checks a kind that is one URL with a secret in it.
func validateHook(kind string, url Secret) error {
	var p problems
	checkSecretURL(&p, "url", url)
	return p.err(kind)
}

// checkSecretURL is checkURL for a URL that nobody may see.
func checkSecretURL(p *problems, field string, text Secret) {
	if text == Redacted {
		return
	}
	var found problems
	checkURL(&found, field, string(text), "http", "https")
	for _, f := range found {
		p.add(field, "", f.Message, strings.Replace(f.Hint, "put them into auth, or an", "put an", 1))
	}
}

// checkToken wants what can stand in a header.
func checkToken(p *problems, field string, token Secret) {
	if token != Redacted && strings.ContainsAny(string(token), " \t\r\n\x00") {
		p.add(field, "", "has a character that no token has", "is there a space or a line end?")
	}
}

func checkMail(p *problems, field, text string) {
	if _, err := mail.ParseAddress(text); err != nil || strings.ContainsAny(text, "\r\n\x00") {
		p.add(field, text, "is not an address", "such as ops@example.com, or Ops <ops@example.com>")
	}
}
