//go:build linux

package main

import (
	"strings"
	"testing"
)

func TestATableComparesWithinItsClass(t *testing.T) {
	list := []contender{
		{name: "Belfry", class: servers, base: belfryDefault},
		{name: "Belfry tuned", class: servers, base: belfryTuned},
		{name: "Peer", class: servers},
		{name: "Loner", class: sqliteFull},
	}
	s := samples{}
	for name, rates := range map[string][]float64{"Belfry": {1000, 3000, 2000}, "Belfry tuned": {9000, 8000, 7000}, "Peer": {500, 400, 600}, "Loner": {5}} {
		for _, r := range rates {
			s.add(name, "rate", r)
		}
	}
	s.add("Peer", "offered", 77)
	top := topic{"Speed", "higher", "How fast.", []column{{measure: "rate", title: "thousands/s", unit: 1000}, {measure: "offered", title: "offered", alone: true}}}
	const want = `## Speed

How fast. Belfry's ratios are its default settings' / its tuned settings', **higher is better for Belfry**.

| contender | Belfry ÷ it: thousands/s | thousands/s | offered |
|---|--:|--:|--:|
| Belfry | 1 / 4.00 | 2.00 (1.00 to 3.00) | - |
| Belfry tuned | 0.25 / 1 | 8.00 (7.00 to 9.00) | - |
| Peer | 4.00 / 16.0 | 0.50 (0.40 to 0.60) | 77.0 |
| Loner (failed, see below) | - / - | 0.0050 | - |

`
	if got := top.table(list, s, map[string]string{"Loner": "it fell over"}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnUnmeasuredTopicHasNoTable(t *testing.T) {
	if got := topics[0].table(contenders(), samples{}, nil); got != "" {
		t.Errorf("table without samples: got %q, want none", got)
	}
}

func TestEveryMeasureOfATopicHasATitle(t *testing.T) {
	for _, top := range topics {
		for _, c := range top.columns {
			if c.measure == "" || c.title == "" || strings.Contains(c.title, "|") {
				t.Errorf("%s: %+v", top.title, c)
			}
		}
	}
}
