// Package parts has the parts of all pages, which give them one look: chips, fields, tables, charts, and the texts of numbers,
// times and nouns. Each part has a template in parts.html and a function or type here with its data. Parts read nothing: they
// depend on their arguments only.
package parts

import (
	"embed"
	"html/template"
	"reflect"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Files are the templates of the parts.
//
//go:embed *.html
var Files embed.FS

// Funcs are what all templates may call besides the methods of a page. Each is
// a plain function of its arguments.
var Funcs = template.FuncMap{
	"limitUses": limitUses,
	"number":    func(n any) string { return NumberText(whole(n)) }, "count": CountText, "countOver": countOver, "bytes": core.SizeText, "percent": PercentText,
	"span":    func(d any) string { return core.SpanText(whole(d)) },
	"latency": func(d any) string { return LatencyText(whole(d)) },
	"join":    strings.Join, "words": Words, "short": Short, "sentence": sentence, "capital": capital, "plural": Plural, "firstLine": firstLineShort,
	"themes": func() []string { return []string{"auto", "light", "dark"} },
	"add":    func(a, b int) int { return a + b },

	"icon": icon, "chip": NewChip, "empty": newEmpty, "emptyWith": newEmptyWith, "dot": newDot, "spark": NewSpark, "menu": NewMenu, "item": NewMenuItem, "askItem": AskItem, "linkItem": LinkItem, "rowButton": newRowButton, "switchLacks": switchLacks, "bar": NewBar, "field": NewField, "tab": NewTab, "stat": NewStat,
	"tabs": func(ts ...Tab) []Tab { return ts }, "stats": func(ss ...Stat) []Stat { return ss },
	"faults": FaultsOf, "problem": ProblemOf, "above": above, "document": NewDocument,

	// Words of several areas about jobs, tasks, workers and queues.
	"assignments": Assignments, "commandLine": CommandLine, "reason": ReasonText, "taskName": taskName, "called": Called, "hover": Hover,
	"jobChip": jobChip, "jobTook": jobTook, "jobRows": NewJobRows, "twin": twin, "workerWord": workerWord, "isolation": isolationText,
	"loadLag": loadLag, "loadRate": loadRate, "loadWord": loadWord, "waited": waited, "throughput": throughput,
}

// whole is any whole number, durations too.
func whole(v any) int64 { return reflect.ValueOf(v).Int() }
