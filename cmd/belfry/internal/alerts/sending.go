package alerts

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// sending describes the test of a noun that sends messages: channels, and hooks.
type sending struct {
	noun, what  string // the message
	short, long string
	// remote runs the test at a server; it returns nil if s is not a server.
	remote  func(s *cli.Conn) func(ctx context.Context, namespace, name string) (wire.ChannelTest, error)
	secrets func(s httpapi.Secrets) func(ctx context.Context, namespace, name string) (alert.Channel, error)
	message func(c alert.Channel, publicURL string, now time.Time) alert.Message
}

// test returns the verb test.
func (t sending) test(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", Short: t.short, Args: cobra.ExactArgs(1), Long: t.long,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			try := t.remote(s)
			if try == nil {
				try = func(ctx context.Context, ns, name string) (wire.ChannelTest, error) {
					return t.here(ctx, c, s, ns, name)
				}
			}
			out, err := try(ctx, ns, args[0])
			if err != nil {
				return err
			}
			if err := c.Emit(out, func(w io.Writer) { t.draw(c, w, args[0], out) }); err != nil {
				return err
			}
			if !out.OK {
				return cli.ExitStatus(cli.ExitFailed)
			}
			return nil
		}),
	}
}

func (t sending) draw(c *cli.CLI, w io.Writer, name string, r wire.ChannelTest) {
	paint := c.Painter()
	if r.OK {
		fmt.Fprintf(w, "%s  %s %s took the %s in %s\n", paint(cli.StyleGood, "ok  "), t.noun, name, t.what, core.SpanText(r.Took.D()))
		return
	}
	fmt.Fprintf(w, "%s  %s %s did not take the %s: %s\n", paint(cli.StyleBad, "FAIL"), t.noun, name, t.what, r.Error)
}

// here runs the test in this process.
func (t sending) here(ctx context.Context, c *cli.CLI, s *cli.Conn, ns, name string) (out wire.ChannelTest, err error) {
	keeper, is := s.Service.(httpapi.Secrets)
	if !is {
		return out, core.Errorf(core.Internal, "the secrets of %ss cannot be read here", t.noun)
	}
	channel, err := t.secrets(keeper)(ctx, ns, name)
	if err != nil {
		return out, err
	}
	teller, err := app.NewTeller(c.Loaded.Config, c.Version, nil)
	if err != nil {
		return out, err
	}
	defer teller.Close()
	ctx, cancel := context.WithTimeout(ctx, view.AlertTimeout)
	defer cancel()
	began := time.Now()
	sent := teller.Send(ctx, channel, t.message(channel, c.Loaded.PublicURL, began))
	out = wire.ChannelTest{OK: sent.Error == "", Took: core.Duration(time.Since(began))}
	out.Error, _ = core.CleanText(sent.Error, task.MaxCheckMessage)
	return out, nil
}
