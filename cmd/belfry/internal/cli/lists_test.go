package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestAListTakesAnEntryALine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"a,b":             {"a", "b"},
		"a\nb":            {"a", "b"},
		"a\r\n\nb,c\n":    {"a", "b", "c"},
		"\"a,b\"\nc":      {"a,b", "c"},
		"":                {},
		"one with spaces": {"one with spaces"},
	} {
		var got, all []string
		root, sub := &cobra.Command{Use: "root"}, &cobra.Command{Use: "sub", RunE: func(cmd *cobra.Command, _ []string) (err error) {
			all, err = cmd.Flags().GetStringSlice("to")
			return err
		}}
		sub.Flags().StringSliceVar(&got, "to", nil, "")
		root.AddCommand(sub)
		c := New(strings.NewReader(""), io.Discard, io.Discard, nil)
		c.Attach(root)
		if code := c.Run(t.Context(), root, []string{"sub", "--to", text}); code != 0 || !slices.Equal(got, want) || !slices.Equal(all, want) {
			t.Errorf("--to %q: code %d, %q and %q, want %q", text, code, got, all, want)
		}
	}
}
