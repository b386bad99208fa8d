// Command shape prints the shape of every package of Belfry. Run it in the root of the repository:
//
//	go run ./internal/shape/cmd/shape
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/belfry-run/belfry/internal/shape"
)

func main() {
	list, err := shape.Read(".", "github.com/belfry-run/belfry")
	if err == nil {
		err = table(os.Stdout, list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func table(w io.Writer, list []shape.Package) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "PACKAGE\tLINES\tCOMMENTS\tEXPORTED\tMOST METHODS\tLONGEST FUNCTION\tIMPORTS")
	edges := 0
	for _, p := range list {
		edges += len(p.Imports)
		row(out, p, fmt.Sprintf("%d  %s", len(p.Imports), strings.Join(p.Imports, " ")))
	}
	row(out, shape.Total(list), fmt.Sprintf("%d  of %d packages", edges, len(list)))
	return out.Flush()
}

func row(w io.Writer, p shape.Package, imports string) {
	count := func(c shape.Count) string {
		if c.N == 0 {
			return "-"
		}
		return fmt.Sprintf("%d %s", c.N, c.Name)
	}
	fmt.Fprintf(w, "%s\t%d\t%.0f %%\t%d\t%s\t%s\t%s\n",
		p.Folder, p.Lines, p.CommentShare(), p.Exported, count(p.Largest()), count(p.Function), imports)
}
