package monitors

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/internal/badge"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// shop is a public monitor, whatever its name.
type shop struct{ Service }

func (shop) Monitor(context.Context, string, string) (view.MonitorView, error) {
	return view.MonitorView{Monitor: monitor.Monitor{Name: "shop", Public: true}, Status: monitor.StatusUp}, nil
}

func (shop) Uptime(context.Context, string, string) (view.UptimeReport, error) {
	return view.UptimeReport{}, nil
}

func TestBadgeCacheIsBounded(t *testing.T) {
	t.Parallel()
	m := badgeMemo{keep: time.Hour}
	for i := range maxBadges + 10 {
		if _, err := m.get(t.Context(), shop{}, "ns", strings.Repeat("x", 1+i%50)+string(rune('a'+i/50))); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.of) > maxBadges {
		t.Errorf("%d monitors are remembered", len(m.of))
	}
}

func TestAnUptimeIsNeverRoundedUp(t *testing.T) {
	t.Parallel()
	for r, want := range map[float64]string{
		1: "100%", 0: "0%", 0.5: "50%", 0.999: "99.9%", 0.99987: "99.98%", 0.9999999: "99.99%", 0.12345: "12.34%", 0.9501: "95.01%",
	} {
		if got, _ := ratioText(&r); got != want {
			t.Errorf("%g is %s, want %s", r, got, want)
		}
	}
	for _, c := range []struct {
		r      float64
		colour string
	}{{1, badge.Green}, {0.99, badge.Green}, {0.98, badge.Amber}, {0.95, badge.Amber}, {0.94, badge.Red}} {
		if _, colour := ratioText(&c.r); colour != c.colour {
			t.Errorf("%g is %s", c.r, colour)
		}
	}
}

func TestLatenciesOfBadges(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		300 * time.Microsecond: "< 1ms", 1499 * time.Microsecond: "1ms", 812 * time.Millisecond: "812ms", 1250 * time.Millisecond: "1.2s", 12 * time.Second: "12.0s",
	} {
		if got := latencyText(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}

// TestBadgesAreWellFormedForAnyText reads it back as XML and looks for what
// it was to say.
func TestBadgesAreWellFormedForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := badge.Badge{About: rapid.String().Draw(t, "about"), Label: rapid.String().Draw(t, "label"), Value: rapid.String().Draw(t, "value"), Colour: badge.Green}
		var texts []string
		dec := xml.NewDecoder(strings.NewReader(string(b.SVG())))
		for inside := ""; ; {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, b.SVG())
			}
			switch v := token.(type) {
			case xml.StartElement:
				inside = v.Name.Local
				if inside == "text" {
					texts = append(texts, "")
				}
			case xml.EndElement:
				inside = ""
			case xml.CharData:
				if inside == "text" {
					texts[len(texts)-1] += string(v)
				}
			}
		}
		if len(texts) != 2 || texts[0] != badge.Text(b.Label) || texts[1] != badge.Text(b.Value) {
			t.Fatalf("it says %q", texts)
		}
	})
}
