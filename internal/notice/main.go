// Command notice writes NOTICE: the modules that are compiled into belfry, and their licences, whose texts must travel
// with the program. It reads them where the go command keeps modules, and asks no network.
//
//	go run ./internal/notice > NOTICE
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one that the program is built of.
type module struct{ path, version, dir string }

func (m module) String() string { return m.path + " " + m.version }

// systems are those of a release.
var systems = []string{"linux", "darwin", "windows"}

// modules are those of a package, as it is built for any of the systems.
func modules(pkg string) ([]module, error) {
	var all []module
	for _, system := range systems {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", pkg)
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 {
				all = append(all, module{f[0], f[1], f[2]})
			}
		}
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return slices.Compact(all), nil
}

// legal are the names of files that say what a module may be used for.
var legal = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice)([-.].*)?$`)

// terms is the text of a module's licence and notices.
func terms(m module) (string, error) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		if e.IsDir() || !legal.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(strings.TrimSpace(string(text)) + "\n") {
			b.WriteString(strings.TrimRight(line, " \t\r\n\f") + "\n")
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("module %s has no licence file", m)
	}
	return b.String(), nil
}

const line = "--------------------------------------------------------------------------------\n"

// vendored are files of others that stand in this repository and are compiled in.
var vendored = []struct{ name, licence string }{
	{"Lucide icons 1.62.0", "app/ui/console/internal/parts/icons/LICENSE"},
	{"uPlot 1.6.32", "app/ui/console/assets/vendor/uPlot.LICENSE"},
}

// writeVendored writes their licences.
func writeVendored(w io.Writer, root string) error {
	for _, v := range vendored {
		text, err := os.ReadFile(filepath.Join(root, v.licence))
		if err != nil {
			return err
		}
		fmt.Fprint(w, line, v.name, "\n", line, "\n", strings.TrimSpace(string(text)), "\n\n")
	}
	return nil
}

// write writes each text once, below the modules that have it.
func write(w io.Writer, all []module) error {
	under := map[string][]module{}
	var texts []string
	for _, m := range all {
		text, err := terms(m)
		if err != nil {
			return err
		}
		if len(under[text]) == 0 {
			texts = append(texts, text)
		}
		under[text] = append(under[text], m)
	}
	fmt.Fprint(w, "Belfry contains the modules below, under the licences that follow them. The Go runtime and standard library\n"+
		"are golang.org's, under the licence of golang.org/x/sys. Made by: make notice\n\n")
	for _, text := range texts {
		fmt.Fprint(w, line)
		for _, m := range under[text] {
			fmt.Fprintln(w, m)
		}
		fmt.Fprint(w, line, "\n", text)
	}
	return nil
}

func main() {
	all, err := modules("./cmd/belfry")
	if err == nil {
		err = write(os.Stdout, all)
	}
	if err == nil {
		err = writeVendored(os.Stdout, ".")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}
