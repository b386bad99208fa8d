package define

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/view"
)

// LimitFlag adds the flag for the limits of a task, queue or namespace.
func LimitFlag(fs *pflag.FlagSet, limits *[]string) {
	fs.StringArrayVar(limits, "limit", nil, "how many run at once or begin in a time, for each key, such as key=input.customer,running=5 or rate=100/1m,burst=10; may be repeated; empty: none")
}

// ReadLimits reads limits such as key=input.customer,running=5,rate=100/1m,burst=10.
func ReadLimits(texts []string) ([]flow.Limit, error) { return flow.ParseLimits("--limit", texts) }

// LimitTexts describes limits.
func LimitTexts(limits []flow.Limit) []string {
	texts := make([]string, len(limits), len(limits)+1)
	for i, l := range limits {
		texts[i] = limitText(l.Name, l.Key, l.Running, l.Rate, l.Burst)
	}
	return texts
}

// limitText describes a limit.
func limitText(name, key string, running int, rate string, burst int) string {
	var parts []string
	if running > 0 {
		parts = append(parts, fmt.Sprintf("%d at once", running))
	}
	if rate != "" {
		parts = append(parts, rate)
	}
	if burst > 1 {
		parts = append(parts, fmt.Sprintf("bursts of %d", burst))
	}
	if key != "" {
		parts = append(parts, "for each "+key)
	}
	return name + ": " + strings.Join(parts, ", ")
}

// EmitLimitUse shows the use of limits, or the text none if there are none.
func EmitLimitUse(c *cli.CLI, all []view.LimitUse, none string) error {
	return c.Emit(all, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(c.Stderr, none)
			return
		}
		for _, u := range all {
			fmt.Fprintln(w, limitText(u.Name, u.Key, u.Running, u.Rate, u.Burst))
			g := c.Grid("KEY", "RUNNING", "WAITING", "NEXT", "STOPPED BY")
			for _, k := range u.Keys {
				g.Row(strconv.Quote(k.Value), strconv.Itoa(k.Running), strconv.Itoa(k.Waiting), cli.Stamp(k.NextAt), stoppedBy(k.StoppedBy))
			}
			g.Write(w)
			if u.More {
				fmt.Fprintln(c.Stderr, "there are other keys, which are less busy")
			}
		}
	})
}

func stoppedBy(id int64) string {
	if id == 0 {
		return ""
	}
	return "job " + strconv.FormatInt(id, 10)
}
