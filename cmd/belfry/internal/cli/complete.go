package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Completed is what a shell may complete a word to, and what it says beside it.
type Completed struct{ Word, Note string }

// completePatience is short, because the shell takes no keys meanwhile.
const completePatience = 2 * time.Second

// Complete makes shells complete a word to what list finds for the part that is written. Where no server answers they
// complete nothing, and say nothing of it: a key that is pressed opens no database, which might be migrated by it.
func (c *CLI) Complete(list func(ctx context.Context, s *Conn, part string) ([]Completed, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, part string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
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
