package console

import (
	"math"
	"os"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
)

// A page with every part as it is used and as it is seldom seen, at /parts.
func init() {
	all := areas
	areas = func() []area {
		return append(all(), of(frame.NewArea(galleryTemplates, newGallery, galleryRoutes), itself))
	}
}

var (
	galleryTemplates = frame.Templates(frame.Set{Files: os.DirFS("testdata")})
	galleryRoutes    = frame.Routes[*frame.Page]{"GET /parts": gallery, "POST /parts": refused}
)

func newGallery(p *frame.Page, _ API) *frame.Page { return p }
func itself(api API) API                          { return api }

type galleryData struct {
	Err     error
	States  []string
	Fields  []parts.Field
	Pager   parts.Pager
	Confirm parts.Confirm
	Strip   parts.Strip
	None    parts.Strip
	Steps   []parts.Step
	Charts  []parts.Chart
}

func gallery(p *frame.Page) error {
	err := core.InvalidField("rules[0].cron", "61 * * * *", "has no minute 61", "0 to 59").WithHint("see the guide about rules")
	at := p.When(p.Now.Add(-time.Hour))
	cmd := p.Command("DELETE", "/v1/tasks/it's", "", "task", "delete", "it's")
	d := galleryData{
		Err: err, Pager: p.Pager("x"), None: parts.Strip{Label: "Last 30"},
		Fields: []parts.Field{
			parts.NewField("rules[0].cron", "Rule", "text", "61 * * * *", "Five fields.", err).Need(),
			parts.NewField("overlap", "Overlap", "", "skip", "", nil).Among("skip", "allow"),
			parts.NewField("input", "Input", "area", "{}", "JSON", nil), parts.NewField("muted", "Muted", "check", "true", "", nil),
		},
		Confirm: parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete it?", Text: "It is gone then.", Action: "/parts", Hidden: map[string]string{"a": "b"}, Cmd: &cmd},
		Steps:   []parts.Step{{Name: "first", State: "succeeded", At: &at}, {Name: "second", State: "running", Note: "40 s so far", Link: "/parts"}, {Name: "third", State: "waiting"}},
	}
	for state := range parts.Tones {
		d.States = append(d.States, state)
	}
	for i, tone := range []string{"good", "good", "warn", "bad", "busy", "idle", "none"} {
		d.Strip.Cells = append(d.Strip.Cells, parts.Cell{Tone: tone, Title: "run " + parts.NumberText(i)})
	}
	d.Strip.Label = "Last 7"
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
	return p.Show("gallery", d)
}

// refused shows the form again.
func refused(p *frame.Page) error {
	return p.Again("gallery", galleryData{}, core.Errorf(core.Conflict, "no"))
}
