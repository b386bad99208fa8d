// Package design has the page that shows the parts of all pages, in both themes.
// The console mounts its [Area] for developers; tests take its pictures and
// check its contrast.
package design

import (
	"embed"
	"html/template"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the page uses.
type API interface{}

// Area is the page, for the console.
func Area() frame.Area[API] {
	return frame.NewArea(templates, func(p *frame.Page, _ API) *frame.Page { return p },
		frame.Routes[*frame.Page]{"GET /design": design, "POST /design": refused})
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: template.FuncMap{
	"icons": parts.IconNames, "sides": func() []string { return []string{"light", "dark"} }, "tones": func() []string { return []string{"good", "warn", "bad", "busy", "idle"} },
}})

type data struct {
	Err     error
	States  []string
	Fields  []parts.Field
	Pager   parts.Pager
	Confirm parts.Confirm
	Strip   parts.Strip
	None    parts.Strip
	Steps   []parts.Step
	Charts  []parts.Chart
	Sparks  []parts.Spark
	RowMenu parts.RowMenu
	Alike   []string // headings of tables of one kind
}

func design(p *frame.Page) error {
	err := core.InvalidField("rules[0].cron", "61 * * * *", "has no minute 61", "0 to 59").WithHint("see the guide about rules")
	at := p.When(p.Now.Add(-time.Hour))
	cmd := p.Command("DELETE", "/v1/tasks/it's", "", "task", "delete", "it's")
	d := data{
		Err: err, Alike: []string{"Of all", "Of a name that is far longer than the others"}, Pager: p.Pager("x"), None: parts.Strip{Label: "Last 30"}, States: slices.Sorted(maps.Keys(parts.Tones)),
		Fields: []parts.Field{
			parts.NewField("rules[0].cron", "Rule", "text", "61 * * * *", "Five fields.", err).Need(),
			parts.NewField("overlap", "Overlap", "", "skip", "", nil).Among("skip", "allow"),
			parts.NewField("input", "Input", "area", "{}", "JSON", nil), parts.NewField("muted", "Muted", "check", "true", "", nil),
		},
		Confirm: parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete it?", Text: "It is gone then.", Action: p.Link("design"), Hidden: map[string]string{"a": "b"}, Cmd: &cmd},
		Steps:   []parts.Step{{Name: "first", State: "succeeded", At: &at}, {Name: "second", State: "running", Note: "40 s so far", Link: p.Link("design")}, {Name: "third", State: "waiting"}},
	}
	d.RowMenu = parts.NewRowMenu(p.Path(), parts.RowItem{Icon: "play", Name: "Run now", To: "", Post: true}, parts.RowItem{Icon: "pause", Name: "Pause", Key: "pause", Post: true},
		parts.RowItem{Icon: "trash-2", Name: "Delete…", Asks: "Delete task", Text: "It is gone then."})
	for i, tone := range []string{"good", "good", "warn", "bad", "busy", "idle", "none", "good", "good", "good"} {
		d.Strip.Cells = append(d.Strip.Cells, parts.Cell{Tone: tone, Title: "run " + parts.NumberText(i), Part: math.Abs(math.Sin(float64(i)))})
	}
	d.Strip.Label = "Last 10"
	for _, tone := range []string{"busy", "good"} {
		var values []*float64
		var bad []float64
		for i := range 48 {
			v := 3 + 2*math.Sin(float64(i)/4)
			values, bad = append(values, &v), append(bad, float64(i%13/12))
		}
		values[20] = nil // nothing is known
		d.Sparks = append(d.Sparks, parts.NewSpark("Between 1 and 5 in 24 hours", tone, values, bad))
	}
	for _, kind := range []string{"line", "stacked", "bars"} {
		c := parts.Chart{Title: "Latency, " + kind, Kind: kind, Unit: "ms", X: "When", Series: []string{"p50", "p95"}}
		for i := range 60 {
			low, high := 20+10*math.Sin(float64(i)/5), 60+20*math.Cos(float64(i)/7)
			row := parts.ChartRow{At: p.Now.Add(time.Duration(i-60) * time.Minute), Values: []*float64{&low, &high}}
			if i == 30 {
				row.Values[0] = nil // nothing is known
			}
			c.Rows = append(c.Rows, row)
		}
		d.Charts = append(d.Charts, c)
	}
	return p.Show("design", d)
}

// refused shows the form again.
func refused(p *frame.Page) error {
	return p.Again("design", data{}, core.Errorf(core.Conflict, "this page only shows what forms look like"))
}
