package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// readLines makes list flags of all commands also accept one entry for each line,
// as from a file or another command. pflag reads only the first line, and ignores
// the others silently.
func readLines(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if list, is := f.Value.(pflag.SliceValue); is && f.Value.Type() == "stringSlice" {
				f.Value = lineList{f.Value, list}
				if f.DefValue == "[]" {
					f.DefValue = "" // pflag shows it otherwise, because it does not know the type
				}
			}
		})
	}
	for _, sub := range cmd.Commands() {
		readLines(sub)
	}
}

type lineList struct {
	pflag.Value
	pflag.SliceValue
}

func (l lineList) Set(text string) error {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r")
	}
	return l.Value.Set(strings.Join(lines, ","))
}
