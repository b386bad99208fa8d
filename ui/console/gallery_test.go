package console

import (
	"html/template"
	"math"
	"time"

	"github.com/belfry-run/belfry/core"
)

// A page with every part as it is used and as it is seldom seen, at /parts.
func init() {
	all := routes
	routes = func() []route { return append(all(), route{"GET /parts", gallery}, route{"POST /parts", refused}) }
	page := template.Must(templates()["queues"].Clone()) // not executed yet
	templates()["gallery"] = template.Must(page.ParseFiles("testdata/gallery.html"))
}

type galleryData struct {
	Err     error
	States  []string
	Fields  []field
	Pager   pager
	Confirm confirm
	Strip   strip
	None    strip
	Steps   []step
	Charts  []chart
}

func gallery(p *page) error {
	err := core.InvalidField("rules[0].cron", "61 * * * *", "has no minute 61", "0 to 59").WithHint("see the guide about rules")
	at := p.When(p.Now.Add(-time.Hour))
	cmd := p.Command("DELETE", "/v1/tasks/it's", "", "task", "delete", "it's")
	d := galleryData{
		Err: err, Pager: p.pager("x"), None: strip{Label: "Last 30"},
		Fields: []field{
			newField("rules[0].cron", "Rule", "text", "61 * * * *", "Five fields.", err).Need(),
			newField("overlap", "Overlap", "", "skip", "", nil).Among("skip", "allow"),
			newField("input", "Input", "area", "{}", "JSON", nil), newField("muted", "Muted", "check", "true", "", nil),
		},
		Confirm: confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete it?", Text: "It is gone then.", Action: "/parts", Hidden: map[string]string{"a": "b"}, Cmd: &cmd},
		Steps:   []step{{Name: "first", State: "succeeded", At: &at}, {Name: "second", State: "running", Note: "40 s so far", Link: "/parts"}, {Name: "third", State: "waiting"}},
	}
	for state := range tones {
		d.States = append(d.States, state)
	}
	for i, tone := range []string{"good", "good", "warn", "bad", "busy", "idle", "none"} {
		d.Strip.Cells = append(d.Strip.Cells, cell{Tone: tone, Title: "run " + numberText(i)})
	}
	d.Strip.Label = "Last 7"
	for _, kind := range []string{"line", "stacked", "bars"} {
		c := chart{Title: "Latency, " + kind, Kind: kind, Unit: "ms", X: "When", Series: []string{"p50", "p95"}}
		for i := range 60 {
			low, high := 20+10*math.Sin(float64(i)/5), 60+20*math.Cos(float64(i)/7)
			row := chartRow{At: p.Now.Add(time.Duration(i-60) * time.Minute), Values: []*float64{&low, &high}}
			if i == 30 {
				row.Values[0] = nil // nothing is known
			}
			c.Rows = append(c.Rows, row)
		}
		d.Charts = append(d.Charts, c)
	}
	return p.show("gallery", d)
}

// refused shows the form again.
func refused(p *page) error {
	return p.again("gallery", galleryData{}, core.Errorf(core.Conflict, "no"))
}
