// Package arrows enforces one ordered list of packages: a package imports only packages above it. Test files may import any
// package.
package arrows

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/internal/shape"
)

const module = "github.com/belfry-run/belfry"

// order is the layout. A group is a folder of the library or of app with all below it; root is the module's own folder without any
// below it; bench is internal/bench, a program. A group imports groups of the lines above its own. Those that share a line
// never import each other: one that needs an ability of another declares a small interface, and app plugs it in.
var order = [][]string{
	{"cron"},
	{"core"},
	{"flow"},
	{"task"},
	{"schedule"},
	{"job"},
	{"access"},
	{"alert", "public"},
	{"hook", "monitor"},
	{"cycle", "workflow"},
	{"view"},
	{"internal"},
	{"blob", "config", "engine", "httpapi", "intake", "notify", "store", "transport", "ui", "worker"},
	{"root", "app"},
	{"cmd", "bench", "examples"},
}

// commands is the layout of the command line, below cmd/belfry/internal. It is read like [order].
var commands = [][]string{
	{"cli"},
	{"define", "wait"},
	{"access", "alerts", "cycles", "definitions", "jobs", "monitors", "operate", "programs", "schedules", "serve", "tasks", "workers", "workflows"},
}

// endpoints is the layout of the API server, below app/httpapi/internal. It is read like [order].
var endpoints = [][]string{
	{"body"},
	{"api"},
	{"access", "alerts", "definitions", "docs", "health", "jobs", "monitors", "programs", "schedules", "tasks", "views", "workers"},
	{"apitest"},
}

// rules is the layout of the time rules, below cron/internal. It is read like [order].
var rules = [][]string{
	{"civil", "spell", "spread"},
	{"refusal", "wall"},
	{"fields", "foreign", "zone"},
	{"ical"},
	{"ics", "rrule"},
}

// benchmarks is the layout below internal/bench, whose own folder stands above the commands. It is read like [order].
var benchmarks = [][]string{
	{"report"},
	{"process"},
	{"database", "target"},
	{"node"},
	{"rates", "schedules", "monitors", "programs", "recovery", "pages"},
	{"benchtest", "cmd/claims", "cmd/node", "cmd/pages"},
}

// pure is the number of lines of [order] whose groups import no other modules, and no group of the lines after them.
const pure = 11

// lineOf returns the place of a group in [order], or -1.
func lineOf(group string) int { return place(order, group) }

func place(list [][]string, name string) int {
	return slices.IndexFunc(list, func(line []string) bool { return slices.Contains(line, name) })
}

// nouns has the packages below store, in the order of their imports. store itself, which connects them, is below all of
// them.
var nouns = []string{
	"schemas", "base", "locks", "shifts", "titles", "documents", "tokens", "keys", "windows", "quotas", "queues", "bounds", "turns", "tasks", "marks", "limits", "newjobs", "jobs", "leftovers", "links", "steps", "workers", "programs", "remote", "cycles", "workflows", "schedules", "search", "history", "samples", "monitors",
	"subscribers", "trials", "incidents", "announcements", "uptime", "alerts", "hooks", "zones", "views", "definitions", "",
}

// nounOf returns the place of a folder in [nouns], or -1.
func nounOf(folder string) int {
	if folder == "store" {
		return len(nouns) - 1
	}
	noun, inside := strings.CutPrefix(folder, "store/")
	if !inside || noun == "" {
		return -1
	}
	return slices.Index(nouns, noun)
}

// apart has packages that may not import each other, although their groups may.
var apart = map[string][]string{
	"store/sqlite":   {"store/postgres", "store/storetest"},
	"store/postgres": {"store/sqlite", "store/storetest"},
	"app/httpapi":    {"httpapi/client"},
	"httpapi/client": {"app/httpapi"},
	"httpapi/wire":   {"app/httpapi", "httpapi/client"},
}

// verdict returns why the package in folder from may not import the path to, or nil.
func verdict(from, to string) error {
	group := groupOf(from)
	line := lineOf(group)
	if line < 0 {
		return fmt.Errorf("%s has no place in the layout: add it to the list in internal/arrows", from)
	}
	folder, ours := folderOf(to)
	if isProduct(folder) && !isProduct(from) {
		return fmt.Errorf("%s imports %s: the library knows nothing of the modules on it", from, to)
	}
	if !ours {
		if !isStandard(to) && (line < pure || group == "root") {
			return fmt.Errorf("%s imports %s: %s uses the standard library only", from, to, group)
		}
		return nil
	}
	if areApart(from, folder) {
		return fmt.Errorf("%s imports %s: areas of the console are kept apart", from, to)
	}
	if target := groupOf(folder); target != group && lineOf(target) >= line || group == "root" && lineOf(target) >= pure {
		return fmt.Errorf("%s imports %s: %s does not stand above %s in the layout", from, to, target, group)
	}
	if noun := nounOf(from); noun >= 0 && (nounOf(folder) >= noun || nounOf(folder) < 0 && strings.HasPrefix(folder, "store/")) {
		return fmt.Errorf("%s imports %s: it does not stand above %s in the store", from, folder, from)
	}
	if strings.HasPrefix(from, "app/httpapi/internal/") && (folder == "app/httpapi" || folder == "httpapi/client") {
		return fmt.Errorf("%s imports %s: it stands below it", from, to)
	}
	if folder == "internal/bench" && strings.HasPrefix(from, "internal/bench/") && !strings.HasPrefix(from, "internal/bench/cmd/") {
		return fmt.Errorf("%s imports %s: it stands below it", from, to)
	}
	if slices.Contains(apart[from], folder) {
		return fmt.Errorf("%s imports %s: these are kept apart", from, to)
	}
	for below, layout := range map[string][][]string{"cmd/belfry/internal/": commands, "internal/bench/": benchmarks, "cron/internal/": rules} {
		if err := insideVerdict(below, layout, from, folder); err != nil {
			return err
		}
	}
	return insideVerdict("app/httpapi/internal/", endpoints, from, folder)
}

// insideVerdict is the verdict for two packages below a folder with a layout of its own.
func insideVerdict(below string, layout [][]string, from, to string) error {
	name, inside := strings.CutPrefix(from, below)
	if !inside {
		return nil
	}
	line := place(layout, name)
	if line < 0 {
		return fmt.Errorf("%s has no place in the layout of %s: add it to the list in internal/arrows", from, below)
	}
	if target, inside := strings.CutPrefix(to, below); inside && place(layout, target) >= line {
		return fmt.Errorf("%s imports %s: it does not stand above it in the layout of %s", from, to, below)
	}
	return nil
}

// isProduct reports whether a folder belongs to another module than the library.
func isProduct(folder string) bool {
	first, _, _ := strings.Cut(folder, "/")
	return first == "app" || first == "cmd" || strings.HasPrefix(folder+"/", "internal/bench/") || strings.HasPrefix(folder+"/", "internal/e2e/")
}

func groupOf(folder string) string {
	if folder == "." {
		return "root"
	}
	if strings.HasPrefix(folder+"/", "internal/bench/") {
		return "bench"
	}
	below, _ := strings.CutPrefix(folder, "app/") // app itself stays
	group, _, _ := strings.Cut(below, "/")
	return group
}

// folderOf returns the folder of an import path of this module.
func folderOf(importPath string) (folder string, ours bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// isStandard reports whether a path is of the standard library: its first element has no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func TestArrowsPointDown(t *testing.T) {
	imports, err := readImports("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := imports["."]; !ok {
		t.Error("Go files in the root: got none")
	}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		for importPath, file := range imports[folder] {
			if err := verdict(folder, importPath); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// readImports returns, for each folder of the project, the imports of its files other than tests, each with a file that
// has it. It reads the files itself: "go list" reads those of one platform only, and go test would not notice that a cached
// result is out of date.
func readImports(root string) (map[string]map[string]string, error) {
	imports := make(map[string]map[string]string)
	err := shape.Walk(root, func(relative, name string) error {
		return addImports(imports, path.Dir(relative), relative, name)
	})
	return imports, err
}

func addImports(imports map[string]map[string]string, folder, relative, name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	if imports[folder] == nil {
		imports[folder] = make(map[string]string)
	}
	for _, spec := range file.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		imports[folder][importPath] = relative
	}
	return nil
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	const pgx = "github.com/jackc/pgx/v5"
	allowed := map[string][]string{
		".":                         {"time", module + "/job", module + "/view"},
		"core":                      {"time", module + "/cron"},
		"monitor":                   {"time", module + "/alert", module + "/task", module + "/cron"},
		"cron":                      {"time", module + "/cron/internal/rrule"},
		"cron/internal/rrule":       {"time", module + "/cron/internal/ical", module + "/cron/internal/civil"},
		"store":                     {pgx, module + "/job", module + "/cron", module + "/internal/x"},
		"store/sqlite":              {module + "/task", module + "/store"},
		"store/base":                {module + "/task", module + "/core"},
		"store/monitors":            {module + "/monitor", module + "/store/base", module + "/store/jobs", module + "/store/schedules"},
		"store/postgres":            {pgx, module + "/job", module + "/store"},
		"store/storetest":           {module + "/task", module + "/store", module + "/internal/pgtest"},
		"engine":                    {module + "/task", module + "/cron"},
		"worker":                    {module + "/job", module + "/internal/x"},
		"app/worker/process":        {module + "/job"},
		"app/httpapi":               {module + "/task", "github.com/danielgtaylor/huma/v2"},
		"app/httpapi/internal/api":  {module + "/task", module + "/httpapi/wire", module + "/app/httpapi/internal/body"},
		"app/httpapi/internal/jobs": {module + "/job", module + "/app/httpapi/internal/api", module + "/app/httpapi/internal/body"},
		"app/intake":                {module + "/task", module + "/cron", "github.com/goccy/go-yaml/parser"},
		"app":                       {module + "/store/sqlite", module + "/engine", module + "/app/worker/probe", module + "/view"},
		"cmd/belfry":                {module + "/app", module + "/app/httpapi", module + "/view", module + "/cmd/belfry/internal/jobs"},
		"internal/pgtest":           {pgx, module + "/job", module + "/internal/x"},
		"internal/bench":            {module + "/app", module + "/store/postgres", module + "/internal/pgtest"},
		"internal/bench/rates":      {module + "/store", module + "/internal/bench/node", module + "/internal/bench/report"},
		"internal/bench/cmd/node":   {module + "/internal/bench", module + "/internal/bench/target"},
		"examples/embed":            {module + "/store", module + "/worker"},
		"app/transport/nats":        {module + "/app/transport"},
		"internal/x/inner":          {module + "/internal/x"},
		"cmd/belfry/internal/cli":   {module + "/app", module + "/httpapi/client"},
		"cmd/belfry/internal/jobs":  {module + "/app", module + "/cmd/belfry/internal/cli", module + "/cmd/belfry/internal/wait"},
	}
	for from, paths := range allowed {
		for _, to := range paths {
			if err := verdict(from, to); err != nil {
				t.Error(err)
			}
		}
	}
	refused := map[string][]string{
		".": {
			pgx, "golang.org/x/time/rate", module + "/store", module + "/internal/x", module + "/app",
			module + "/worker",
		},
		"core":                          {pgx, module, module + "/task", module + "/internal/x"},
		"task":                          {module + "/job", module + "/schedule"},
		"schedule":                      {module + "/job", module + "/store"},
		"alert":                         {module + "/monitor"},
		"view":                          {module, module + "/internal/x"},
		"cron":                          {pgx, module, module + "/store", module + "/internal/x"},
		"cron/internal/civil":           {pgx, module + "/cron/internal/wall", module + "/core"},
		"cron/internal/ics":             {module + "/cron/internal/rrule"},
		"cron/internal/newcomer":        {module + "/cron/internal/civil"},
		"store":                         {module, module + "/engine", module + "/worker", module + "/app/httpapi", module + "/app", module + "/store/sqlite"},
		"store/sqlite":                  {module + "/store/postgres", module + "/store/storetest", module + "/app/blob"},
		"store/base":                    {module + "/store", module + "/store/jobs", module + "/store/sqlite"},
		"store/jobs":                    {module + "/store", module + "/store/monitors", module + "/store/postgres", module + "/store/storetest"},
		"store/postgres":                {module + "/store/sqlite", module + "/app"},
		"engine":                        {module + "/store", module + "/worker", module + "/app", module + "/app/notify"},
		"worker":                        {module + "/store/sqlite", module + "/httpapi/client", module + "/app", module + "/app/worker/process"},
		"app/worker/process":            {module + "/engine"},
		"app/httpapi":                   {module + "/store", module + "/app/ui", module + "/worker"},
		"app/httpapi/internal/api":      {module + "/app/httpapi", module + "/app/httpapi/internal/jobs", module + "/httpapi/client"},
		"app/httpapi/internal/jobs":     {module + "/app/httpapi", module + "/app/httpapi/internal/tasks", module + "/httpapi/client"},
		"app/httpapi/internal/newcomer": {module + "/app/httpapi/internal/api"},
		"app/intake":                    {module + "/app/config", module + "/store"},
		"ui":                            {module + "/app/httpapi", module + "/store"},
		"notify":                        {module + "/engine"},
		"transport":                     {module + "/worker"},
		"blob":                          {module + "/store"},
		"app":                           {module + "/cmd/belfry", module + "/examples/embed"},
		"cmd/belfry":                    {module + "/examples/embed"},
		"cmd/belfry/internal/cli":       {module + "/cmd/belfry/internal/wait", module + "/cmd/belfry/internal/jobs"},
		"cmd/belfry/internal/wait":      {module + "/cmd/belfry/internal/define", module + "/cmd/belfry/internal/jobs"},
		"cmd/belfry/internal/jobs":      {module + "/cmd/belfry/internal/tasks"},
		"cmd/belfry/internal/newcomer":  {module + "/cmd/belfry/internal/cli"},
		"internal/pgtest":               {module, module + "/store", module + "/app", module + "/internal/bench"},
		"internal/bench/report":         {module + "/internal/bench/process"},
		"internal/bench/rates":          {module + "/internal/bench/pages", module + "/internal/bench"},
		"internal/bench/newcomer":       {module + "/job"},
		"newcomer":                      {"time"},
	}
	for from, paths := range refused {
		for _, to := range paths {
			if verdict(from, to) == nil {
				t.Errorf("import of %[2]s in %[1]s: got it permitted, want it refused", from, to)
			}
		}
	}
}

// areApart knows the areas of the console, the packages below ui/console but for internal: they never import each other, and
// what they share in ui/console/internal imports none of them. Only ui/console knows all.
func areApart(from, to string) bool {
	const console = "app/ui/console/"
	if !strings.HasPrefix(from, console) || !strings.HasPrefix(to+"/", console) {
		return false
	}
	area := func(folder string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(folder+"/", console), "/")
		return name
	}
	return area(to) != area(from) && area(to) != "internal"
}

func TestAreasOfTheConsoleAreApart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to string
		apart    bool
	}{
		{"app/ui/console", "app/ui/console/jobs", false},
		{"app/ui/console", "app/ui/console/internal/frame", false},
		{"app/ui/console/jobs", "app/ui/console/internal/frame", false},
		{"app/ui/console/internal/forms", "app/ui/console/internal/frame", false},
		{"app/ui/console/jobs", "app/ui/internal/asset", false},
		{"app/ui/console/jobs", "job", false},
		{"app/ui/console/jobs", "app/ui/console", true},
		{"app/ui/console/jobs", "app/ui/console/tasks", true},
		{"app/ui/console/internal/frame", "app/ui/console", true},
		{"app/ui/console/internal/frame", "app/ui/console/tasks", true},
	} {
		if got := verdict(test.from, module+"/"+test.to) != nil; got != test.apart {
			t.Errorf("verdict for %s and %s: got %v", test.from, test.to, got)
		}
	}
}

// A program that imports the library has the modules of its go.mod in its own module graph.
func TestTheLibraryNeedsFewModules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n\t"); n == 0 || n > 25 {
		t.Errorf("modules of the library: got %d, want 1 to 25: modules that only the server needs belong to module app", n)
	}
}
