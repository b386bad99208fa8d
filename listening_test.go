package belfry_test

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry"
)

func TestHeard(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	span := func(since, until int) belfry.Listening { return belfry.Listening{Since: at(since), Until: at(until)} }
	for name, c := range map[string]struct {
		spans []belfry.Listening
		want  belfry.Listening
	}{
		"nobody":                          {nil, belfry.Listening{}},
		"one":                             {[]belfry.Listening{span(0, 90)}, span(0, 90)},
		"one that has just begun":         {[]belfry.Listening{span(99, 99)}, span(99, 99)},
		"two at the same time":            {[]belfry.Listening{span(20, 98), span(0, 97)}, span(0, 98)},
		"one within another":              {[]belfry.Listening{span(0, 98), span(20, 50)}, span(0, 98)},
		"one after the other":             {[]belfry.Listening{span(50, 98), span(0, 52)}, span(0, 98)},
		"one after the other, in time":    {[]belfry.Listening{span(60, 98), span(0, 50)}, span(0, 98)},
		"one after the other, with a gap": {[]belfry.Listening{span(61, 98), span(0, 50)}, span(61, 98)},
		"a gap that a third one fills":    {[]belfry.Listening{span(61, 98), span(0, 50), span(45, 55)}, span(0, 98)},
		"nobody any more":                 {[]belfry.Listening{span(0, 40), span(10, 50)}, span(0, 50)},
		"by a clock that was ahead":       {[]belfry.Listening{span(0, 500), span(300, 500)}, span(0, 100)},
	} {
		if got := belfry.Heard(c.spans, at(100)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
