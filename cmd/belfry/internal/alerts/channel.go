package alerts

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/view"
)

// Channel is the command channel.
func Channel(c *cli.CLI) *cobra.Command {
	return cli.Noun("channel", "Manage notification channels: webhooks, mail, chats", []string{"channels"}, append(channels(c).Verbs(), channelTest(c))...)
}

func channels(c *cli.CLI) cli.Document[alert.Channel] {
	return cli.Document[alert.Channel]{
		CLI: c, Noun: "channel", Many: "channels", Empty: "belfry channel set ops --webhook URL",
		Arguments: "--webhook URL|--slack URL|--email smtp://HOST|... [flags]",
		Long: `Make or change a channel. Exactly one flag says its kind and where it leads; what
no flag names stays as it is, secrets included, as long as it leads to the same
place.

A URL, a token or a password that is written out stands in the list of processes
and in the shell's history. @FILE reads it from a file, and - from standard
input. No answer shows it again.

See whether it works with: belfry channel test NAME`,
		Example: `  belfry channel set ops --webhook https://hooks.example.com/belfry --secret-file webhook.key
  pass show slack/ops | belfry channel set chat --slack -
  belfry channel set mail --email smtp://belfry@mail.example.com:587 --password @smtp.password --from belfry@example.com --to ops@example.com
  belfry channel set phone --ntfy https://ntfy.sh/our-alerts
  belfry channel set pager -- /usr/local/bin/page night`,
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[alert.Channel], error) {
			return s.Channels(ctx, f)
		},
		Show: func(ctx context.Context, s *cli.Conn, ns, name string) (alert.Channel, error) {
			return s.Channel(ctx, ns, name)
		},
		Save: func(ctx context.Context, s *cli.Conn, d alert.Channel) (alert.Channel, error) {
			return s.SaveChannel(ctx, d)
		},
		Drop: func(ctx context.Context, s *cli.Conn, ns, name string) error { return s.DeleteChannel(ctx, ns, name) },

		Owner: func(d *alert.Channel) (namespace, name *string) { return &d.Namespace, &d.Name },
		Head:  []string{"TITLE", "KIND", "WHERE TO", "DESCRIPTION"},
		Row: func(_ *cli.Conn, d alert.Channel) []string {
			return []string{cli.Clip(d.Title, 40), d.Kind(), cli.Clip(goal(d), 60), cli.Clip(d.Description, 50)}
		},
		Draw:  func(w io.Writer, _ *cli.Conn, d alert.Channel) { drawChannel(c, w, d) },
		Flags: func(fs *pflag.FlagSet) cli.Setter[alert.Channel] { return addChannelFlags(c, fs) },
		Said:  func(_ *cli.Conn, d alert.Channel) string { return ", " + d.Kind() },
		Try:   func(alert.Channel) string { return "belfry channel test" },
	}
}

// goal returns the destination of a channel, without secrets.
func goal(d alert.Channel) string {
	switch g := d.Goal(); {
	case g.To == "":
		return string(core.Redacted)
	case g.By != "":
		return g.To + " by " + g.By
	default:
		return g.To
	}
}

func drawChannel(c *cli.CLI, w io.Writer, d alert.Channel) {
	pairs := []string{"name", d.Name, "namespace", d.Namespace, "title", d.Title, "description", d.Description, "kind", d.Kind(), "where to", goal(d)}
	for _, f := range d.Facts() {
		pairs = append(pairs, f.Name, fmt.Sprintf(f.Format, f.Args...))
	}
	c.Pairs(w, append(pairs, "generation", strconv.FormatInt(d.Generation, 10), "created", cli.Stamp(d.CreatedAt), "updated", cli.Stamp(d.UpdatedAt))...)
}

func channelTest(c *cli.CLI) *cobra.Command {
	return sending{
		noun: "channel", what: "message", short: "Send a test message through a channel, and show the result",
		long: `Send a test message through a channel, and show the result. With a server, one
of its nodes sends; without one, this process does, within the allow_addresses
and allow_commands of its configuration. The exit code is 1 when the message was
not taken.`,
		remote: func(s *cli.Conn) func(context.Context, string, string) (wire.ChannelTest, error) {
			if server, is := s.Service.(interface {
				TestChannel(ctx context.Context, namespace, name string) (wire.ChannelTest, error)
			}); is {
				return server.TestChannel
			}
			return nil
		},
		secrets: func(s httpapi.Secrets) func(context.Context, string, string) (alert.Channel, error) {
			return s.ChannelSecrets
		},
		message: func(c alert.Channel, publicURL string, now time.Time) alert.Message {
			return alert.TestMessage(c, publicURL, rand.Text(), now)
		},
	}.test(c)
}
