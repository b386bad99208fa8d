package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Completed is a completion of a word, with a description.
type Completed struct{ Word, Note string }

// completePatience is the time limit of a completion. It is short, because the shell waits meanwhile.
const completePatience = 2 * time.Second

// Complete returns the completion of a word by list, which gets the typed part. Without a server there are no completions and
// no error. A completion never opens a database, because that could migrate it.
func (c *CLI) Complete(list func(ctx context.Context, s *Conn, part string) ([]Completed, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, part string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completePatience)
		defer cancel()
		l, err := c.config(cmd)
		if err != nil || !l.Given("server") && !answers(ctx, l.ServerURL()) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, _, err := c.dial(l)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, err := list(ctx, s, part)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, f := range found {
			if strings.HasPrefix(f.Word, part) {
				words = append(words, cobra.CompletionWithDesc(f.Word, f.Note))
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
