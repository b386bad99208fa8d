package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (c *cli) channelCmd() *cobra.Command {
	return noun("channel", "Ways to tell people: webhooks, mail, chats", []string{"channels"}, append(c.channels().verbs(), c.channelTest())...)
}

func (c *cli) channels() document[alert.Channel] {
	return document[alert.Channel]{
		c: c, noun: "channel", many: "channels", empty: "belfry channel set ops --webhook URL",
		arguments: "--webhook URL|--slack URL|--email smtp://HOST|... [flags]",
		long: `Make or change a channel. Exactly one flag says its kind and where it leads; what
no flag names stays as it is, secrets included, as long as it leads to the same
place.

A URL, a token or a password that is written out stands in the list of processes
and in the shell's history. @FILE reads it from a file, and - from standard
input. No answer shows it again.

See whether it works with: belfry channel test NAME`,
		example: `  belfry channel set ops --webhook https://hooks.example.com/belfry --secret-file webhook.key
  pass show slack/ops | belfry channel set chat --slack -
  belfry channel set mail --email smtp://belfry@mail.example.com:587 --password @smtp.password --from belfry@example.com --to ops@example.com
  belfry channel set phone --ntfy https://ntfy.sh/our-alerts
  belfry channel set pager -- /usr/local/bin/page night`,
		list: func(ctx context.Context, s *conn, f view.DocumentFilter) (core.Page[alert.Channel], error) {
			return s.Channels(ctx, f)
		},
		show: func(ctx context.Context, s *conn, ns, name string) (alert.Channel, error) {
			return s.Channel(ctx, ns, name)
		},
		save: func(ctx context.Context, s *conn, d alert.Channel) (alert.Channel, error) {
			return s.SaveChannel(ctx, d)
		},
		drop: func(ctx context.Context, s *conn, ns, name string) error { return s.DeleteChannel(ctx, ns, name) },

		owner: func(d *alert.Channel) (namespace, name *string) { return &d.Namespace, &d.Name },
		head:  []string{"KIND", "WHERE TO", "DESCRIPTION"},
		row: func(_ *conn, d alert.Channel) []string {
			return []string{d.Kind(), clip(goal(d), 60), clip(d.Description, 50)}
		},
		draw:  func(w io.Writer, _ *conn, d alert.Channel) { c.drawChannel(w, d) },
		flags: c.addChannelFlags,
		said:  func(_ *conn, d alert.Channel) string { return ", " + d.Kind() },
		try:   "belfry channel test",
	}
}

// goal is where a channel leads, as far as that is not a secret.
func goal(d alert.Channel) string {
	switch {
	case d.Email != nil:
		return strings.Join(d.Email.To, ", ") + " by " + d.Email.Host
	case d.Telegram != nil:
		return d.Telegram.Chat
	case d.Ntfy != nil:
		return d.Ntfy.Server + "/" + d.Ntfy.Topic
	case d.Command != nil:
		return strings.Join(d.Command.Argv, " ")
	}
	return string(core.Redacted)
}

func (c *cli) drawChannel(w io.Writer, d alert.Channel) {
	pairs := []string{"name", d.Name, "namespace", d.Namespace, "description", d.Description, "kind", d.Kind(), "where to", goal(d)}
	switch {
	case d.Webhook != nil:
		signed := "no"
		if d.Webhook.Secret != "" {
			signed = "yes"
		}
		headers := map[string]string{}
		for name, value := range d.Webhook.Headers {
			headers[name] = value.String()
		}
		pairs = append(pairs, "signed", signed, "headers", entries(headers, ": "))
	case d.Email != nil:
		pairs = append(pairs, "server", d.Email.Host+":"+strconv.Itoa(d.Email.Port), "tls", d.Email.TLS, "user", d.Email.User,
			"password", d.Email.Password.String(), "from", d.Email.From)
	case d.Telegram != nil:
		pairs = append(pairs, "api", d.Telegram.API, "token", d.Telegram.Token.String())
	case d.PagerDuty != nil:
		pairs = append(pairs, "api", d.PagerDuty.API)
	case d.Ntfy != nil:
		pairs = append(pairs, "token", d.Ntfy.Token.String())
	case d.Command != nil:
		pairs = append(pairs, "timeout", d.Command.Timeout.String())
	}
	c.pairs(w, append(pairs, "generation", strconv.FormatInt(d.Generation, 10), "created", stamp(d.CreatedAt), "updated", stamp(d.UpdatedAt))...)
}

// tester sends a test message from where the server is.
type tester interface {
	TestChannel(ctx context.Context, namespace, name string) (wire.ChannelTest, error)
}

func (c *cli) channelTest() *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", Short: "Send a test message through a channel, and say what came of it", Args: cobra.ExactArgs(1),
		Long: `Send a test message through a channel, and say what came of it. With a server, one
of its nodes sends; without one, this process does, within the allow_addresses
and allow_commands of its configuration. The exit code is 1 when the message was
not taken.`,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			var out wire.ChannelTest
			if server, is := s.Service.(tester); is {
				out, err = server.TestChannel(ctx, ns, args[0])
			} else {
				out, err = c.testHere(ctx, s, ns, args[0])
			}
			if err != nil {
				return err
			}
			if err := c.emit(out, func(w io.Writer) { c.drawTest(w, args[0], out) }); err != nil {
				return err
			}
			if !out.OK {
				return exitStatus(exitFailed)
			}
			return nil
		}),
	}
}

func (c *cli) drawTest(w io.Writer, name string, t wire.ChannelTest) {
	paint := c.painter()
	if t.OK {
		fmt.Fprintf(w, "%s  channel %s took the message in %s\n", paint(styleGood, "ok  "), name, took(t.Took.D()))
		return
	}
	fmt.Fprintf(w, "%s  channel %s did not take the message: %s\n", paint(styleBad, "FAIL"), name, t.Error)
}

func (c *cli) testHere(ctx context.Context, s *conn, ns, name string) (out wire.ChannelTest, err error) {
	keeper, is := s.Service.(httpapi.Secrets)
	if !is {
		return out, core.Errorf(core.Internal, "the secrets of channels cannot be read here")
	}
	channel, err := keeper.ChannelSecrets(ctx, ns, name)
	if err != nil {
		return out, err
	}
	teller, err := app.NewTeller(c.loaded.Config, c.version)
	if err != nil {
		return out, err
	}
	defer teller.Close()
	ctx, cancel := context.WithTimeout(ctx, view.AlertTimeout)
	defer cancel()
	began := time.Now()
	m := alert.Compose(channel, []alert.Alert{{
		Message: "test-" + rand.Text(), // or every test would have the same key
		Notice: alert.Notice{
			Type: alert.NoticeTest, At: core.Micro(began), Namespace: ns,
			Title: "Test of channel " + name, Text: "Alerts that go to this channel arrive here.",
		},
	}}, c.loaded.PublicURL, began)
	told := teller.Send(ctx, channel, m)
	out = wire.ChannelTest{OK: told.Error == "", Took: core.Duration(time.Since(began))}
	out.Error, _ = core.CleanText(told.Error, task.MaxCheckMessage)
	return out, nil
}
