package alerts

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
)

// channelFlags are the fields of a channel that have a flag.
type channelFlags struct {
	c                  *cli.CLI
	settings           cli.Settings
	title, description string
}

func addChannelFlags(c *cli.CLI, fs *pflag.FlagSet) cli.Setter[alert.Channel] {
	f := &channelFlags{c: c}
	f.settings = cli.Settings{
		And: " and ", Missing: "say whom to tell: one of ", Twice: "a channel has exactly one kind; make two, and name both in the rule",
		Reads: map[string]func(text string, settings any) error{"email": f.readMailServer, "ntfy": readTopic, "secret-file": readSecretFile},
	}
	for _, k := range alert.Kinds {
		f.settings.Kinds = append(f.settings.Kinds, cli.KindFlags{Kind: k.Name, Flag: k.Flag, Fields: k.Fields})
	}
	f.settings.Add(fs)
	fs.StringVar(&f.title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&f.description, "description", "", "for people")
	return f.apply
}

func (f *channelFlags) apply(_ *cli.Conn, fs *pflag.FlagSet, d *alert.Channel, rest []string) error {
	given := func(name string) bool { return fs.Changed(name) || name == "exec" && len(rest) > 0 }
	f.settings.More("exec", rest)
	cli.Set(given("title"), f.title, &d.Title)
	cli.Set(given("description"), f.description, &d.Description)
	name, flag, err := f.settings.Kind(given, d.Kind())
	if err != nil {
		return err
	}
	if flag != "" && name != d.Kind() { // a change of the kind drops the settings of the old kind
		*d = alert.Channel{Namespace: d.Namespace, Name: d.Name, Title: d.Title, Description: d.Description}
	}
	if stray, of := f.settings.Stray(given, name); stray != "" {
		return core.InvalidField("--"+stray, "", "does not belong to a channel of kind "+name, "it belongs to "+strings.Join(of, ", "))
	}
	if given("secret") && given("secret-file") {
		return core.InvalidField("--secret-file", fs.Lookup("secret-file").Value.String(), "cannot stand beside --secret", "keep one of them")
	}
	kind, _ := alert.KindOf(name)
	return f.settings.Apply(f.c, given, name, kind.Edit(d))
}

func readSecretFile(path string, settings any) (err error) {
	w := settings.(*alert.WebhookChannel)
	w.Secret, err = cli.SecretFile("--secret-file", path)
	return err
}

func readTopic(text string, settings any) error {
	n := settings.(*alert.NtfyChannel)
	n.Server, n.Topic = "", text
	if i := strings.LastIndex(text, "/"); strings.Contains(text, "://") {
		n.Server, n.Topic = text[:i], text[i+1:]
	}
	return nil
}

func (f *channelFlags) readMailServer(text string, settings any) error {
	read, err := f.c.Secret("--email", text)
	if err != nil {
		return err
	}
	return mailServer(string(read), settings.(*alert.EmailChannel))
}

// mailServer reads the URL of a mail server. Missing parts get their defaults, except
// that an existing password stays.
func mailServer(text string, e *alert.EmailChannel) error {
	const hint = "such as smtp://belfry@mail.example.com:587, or smtps:// for TLS from the start"
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Path != "" && u.Path != "/" {
		return core.InvalidField("--email", "", "is not the URL of a mail server", hint) // the value may contain a password
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
