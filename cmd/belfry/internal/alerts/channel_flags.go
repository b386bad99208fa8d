package alerts

import (
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
)

// channelFlags are the fields of a channel that have a flag.
type channelFlags struct {
	c                                                                *cli.CLI
	webhook, slack, discord, teams, email, telegram, pagerduty, ntfy string
	secret, secretFile, password, botToken, accessToken              string
	from, api, timeout, tls, ca, description                         string
	exec, to, headers                                                []string
}

// channelKinds are the flags that say what kind a channel is of, and the
// settings that belong to each.
var channelKinds = []struct{ flag, kind, settings string }{
	{"webhook", "webhook", "secret secret-file header"}, {"slack", "slack", ""}, {"email", "email", "from to password email-tls email-ca"},
	{"telegram", "telegram", "bot-token api"}, {"discord", "discord", ""}, {"teams", "teams", ""}, {"pagerduty", "pagerduty", "api"},
	{"ntfy", "ntfy", "access-token"}, {"exec", "command", "timeout"},
}

func addChannelFlags(c *cli.CLI, fs *pflag.FlagSet) cli.Setter[alert.Channel] {
	f := &channelFlags{c: c}
	fs.StringVar(&f.webhook, "webhook", "", "URL that is sent the message as JSON"+cli.SecretHelp)
	fs.StringVar(&f.slack, "slack", "", "URL of an incoming webhook of Slack, Mattermost and others"+cli.SecretHelp)
	fs.StringVar(&f.email, "email", "", "mail server, as smtp://USER@HOST:PORT, or smtps:// for TLS from the start"+cli.SecretHelp)
	fs.StringVar(&f.telegram, "telegram", "", "chat of Telegram: its number, or @name of a channel, told by the bot of --bot-token")
	fs.StringVar(&f.discord, "discord", "", "URL of a webhook of Discord"+cli.SecretHelp)
	fs.StringVar(&f.teams, "teams", "", "URL of a workflow's webhook of Teams"+cli.SecretHelp)
	fs.StringVar(&f.pagerduty, "pagerduty", "", "integration key of PagerDuty, Events API v2"+cli.SecretHelp)
	fs.StringVar(&f.ntfy, "ntfy", "", "topic of ntfy.sh, or the URL of one elsewhere")
	fs.StringArrayVar(&f.exec, "exec", nil, "program that reads the message as JSON, then its arguments: repeat the flag, or write them after --")
	fs.StringVar(&f.secret, "secret", "", "of --webhook: key of the signature in Belfry-Signature"+cli.SecretHelp)
	fs.StringVar(&f.secretFile, "secret-file", "", "of --webhook: the same as --secret @FILE")
	fs.StringArrayVar(&f.headers, "header", nil, "of --webhook: 'Name: value', where the value may be @FILE; may be repeated")
	fs.StringVar(&f.password, "password", "", "of --email"+cli.SecretHelp)
	fs.StringVar(&f.tls, "email-tls", "", "of --email: starttls, implicit, opportunistic (where the server offers it) or none; default: by the URL")
	fs.StringVar(&f.ca, "email-ca", "", "of --email: PEM file of the authorities to trust instead of the system's; empty: the system's")
	fs.StringVar(&f.from, "from", "", "of --email: sender")
	fs.StringSliceVar(&f.to, "to", nil, "of --email: whom to tell; may be repeated")
	fs.StringVar(&f.botToken, "bot-token", "", "of --telegram: token of the bot"+cli.SecretHelp)
	fs.StringVar(&f.accessToken, "access-token", "", "of --ntfy: token"+cli.SecretHelp)
	fs.StringVar(&f.api, "api", "", "of --telegram and --pagerduty: where, if it is not the usual place")
	fs.StringVar(&f.timeout, "timeout", "", "of --exec: longest the program may run; default: 30s")
	fs.StringVar(&f.description, "description", "", "for people")
	return f.apply
}

func (f *channelFlags) apply(_ *cli.Conn, fs *pflag.FlagSet, d *alert.Channel, rest []string) error {
	given := func(name string) bool { return fs.Changed(name) || name == "exec" && len(rest) > 0 }
	f.exec = append(slices.Clone(f.exec), rest...)
	cli.Set(given("description"), f.description, &d.Description)
	kind, err := f.kind(given, d)
	if err != nil {
		return err
	}
	for _, k := range channelKinds {
		for _, name := range strings.Fields(k.settings) {
			if given(name) && !takes(kind, name) {
				return core.InvalidField("--"+name, "", "does not belong to a channel of kind "+kind, "it belongs to --"+k.flag)
			}
		}
	}
	return f.applyKind(given, kind, d)
}

func takes(kind, setting string) bool {
	for _, k := range channelKinds {
		if k.kind == kind {
			return slices.Contains(strings.Fields(k.settings), setting)
		}
	}
	return false
}

// kind is the kind that the flags ask for, or else the one that the channel
// has. Another kind begins without the settings of the one before.
func (f *channelFlags) kind(given func(string) bool, d *alert.Channel) (string, error) {
	asked, by := "", ""
	var flags []string
	for _, k := range channelKinds {
		flags = append(flags, "--"+k.flag)
		switch {
		case !given(k.flag):
		case asked != "":
			return "", core.InvalidField("--"+k.flag, "", "cannot stand beside --"+by, "a channel has exactly one kind; make two, and name both in the rule")
		default:
			asked, by = k.kind, k.flag
		}
	}
	switch {
	case asked == "" && d.Kind() == "":
		return "", core.InvalidField("--webhook", "", "is missing, and so is every other kind", "say whom to tell: one of "+strings.Join(flags, ", "))
	case asked == "":
		return d.Kind(), nil
	case asked != d.Kind():
		*d = alert.Channel{Namespace: d.Namespace, Name: d.Name, Description: d.Description}
	}
	return asked, nil
}

func (f *channelFlags) applyKind(given func(string) bool, kind string, d *alert.Channel) error {
	c := f.c
	switch kind {
	case "webhook":
		d.Webhook = cli.Edited(d.Webhook)
		return f.applyWebhook(given, d.Webhook)
	case "slack":
		d.Slack = cli.Edited(d.Slack)
		return c.SetSecret(given, "slack", f.slack, &d.Slack.URL)
	case "discord":
		d.Discord = cli.Edited(d.Discord)
		return c.SetSecret(given, "discord", f.discord, &d.Discord.URL)
	case "teams":
		d.Teams = cli.Edited(d.Teams)
		return c.SetSecret(given, "teams", f.teams, &d.Teams.URL)
	case "email":
		d.Email = cli.Edited(d.Email)
		return f.applyEmail(given, d.Email)
	case "telegram":
		d.Telegram = cli.Edited(d.Telegram)
		cli.Set(given("telegram"), f.telegram, &d.Telegram.Chat)
		cli.Set(given("api"), f.api, &d.Telegram.API)
		return c.SetSecret(given, "bot-token", f.botToken, &d.Telegram.Token)
	case "pagerduty":
		d.PagerDuty = cli.Edited(d.PagerDuty)
		cli.Set(given("api"), f.api, &d.PagerDuty.API)
		return c.SetSecret(given, "pagerduty", f.pagerduty, &d.PagerDuty.RoutingKey)
	case "ntfy":
		d.Ntfy = cli.Edited(d.Ntfy)
		if given("ntfy") {
			d.Ntfy.Server, d.Ntfy.Topic = "", f.ntfy
			if i := strings.LastIndex(f.ntfy, "/"); strings.Contains(f.ntfy, "://") {
				d.Ntfy.Server, d.Ntfy.Topic = f.ntfy[:i], f.ntfy[i+1:]
			}
		}
		return c.SetSecret(given, "access-token", f.accessToken, &d.Ntfy.Token)
	case "command":
		d.Command = cli.Edited(d.Command)
		cli.Set(given("exec"), f.exec, &d.Command.Argv)
		return cli.Duration(given, "timeout", f.timeout, &d.Command.Timeout)
	}
	return nil
}

func (f *channelFlags) applyWebhook(given func(string) bool, w *alert.WebhookChannel) error {
	if err := f.c.SetSecret(given, "webhook", f.webhook, &w.URL); err != nil {
		return err
	}
	if given("secret") && given("secret-file") {
		return core.InvalidField("--secret-file", f.secretFile, "cannot stand beside --secret", "keep one of them")
	}
	if err := f.c.SetSecret(given, "secret", f.secret, &w.Secret); err != nil {
		return err
	}
	if given("secret-file") {
		var err error
		if w.Secret, err = cli.SecretFile("--secret-file", f.secretFile); err != nil {
			return err
		}
	}
	if !given("header") {
		return nil
	}
	headers, err := cli.NameValues("--header", f.headers, ":")
	if err != nil {
		return err
	}
	w.Headers = map[string]core.Secret{}
	for name, value := range headers {
		if w.Headers[name], err = f.c.Secret("--header", value); err != nil {
			return err
		}
	}
	return nil
}

func (f *channelFlags) applyEmail(given func(string) bool, e *alert.EmailChannel) error {
	if given("email") {
		text, err := f.c.Secret("--email", f.email)
		if err != nil {
			return err
		}
		if err := mailServer(string(text), e); err != nil {
			return err
		}
	}
	cli.Set(given("email-tls"), f.tls, &e.TLS)
	if given("email-ca") {
		e.CA = ""
		if f.ca != "" {
			pem, err := os.ReadFile(f.ca)
			if err != nil {
				return core.InvalidField("--email-ca", f.ca, "cannot be read", err.Error())
			}
			e.CA = string(pem)
		}
	}
	cli.Set(given("from"), f.from, &e.From)
	cli.Set(given("to"), f.to, &e.To)
	return f.c.SetSecret(given, "password", f.password, &e.Password)
}

// mailServer reads where mail is handed in. What the URL does not say gets its
// default, and a password stays.
func mailServer(text string, e *alert.EmailChannel) error {
	const hint = "such as smtp://belfry@mail.example.com:587, or smtps:// for TLS from the start"
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Path != "" && u.Path != "/" {
		return core.InvalidField("--email", "", "is not the URL of a mail server", hint) // it may hold a password
	}
	e.Host, e.Port, e.TLS, e.User = u.Hostname(), 0, "starttls", u.User.Username()
	if u.Scheme == "smtps" {
		e.TLS = "implicit"
	}
	if u.Port() != "" {
		if e.Port, err = strconv.Atoi(u.Port()); err != nil {
			return core.InvalidField("--email", net.JoinHostPort(u.Hostname(), u.Port()), "has no number for a port", hint)
		}
	}
	if password, has := u.User.Password(); has {
		e.Password = core.Secret(password)
	}
	return nil
}
