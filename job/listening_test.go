package job_test

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
)

func TestListeningSpansAreMerged(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	span := func(since, until int) job.Listening { return job.Listening{Since: at(since), Until: at(until)} }
	for name, c := range map[string]struct {
		spans []job.Listening
		want  job.Listening
	}{
		"nobody":                          {nil, job.Listening{}},
		"one":                             {[]job.Listening{span(0, 90)}, span(0, 90)},
		"one that has just begun":         {[]job.Listening{span(99, 99)}, span(99, 99)},
		"two at the same time":            {[]job.Listening{span(20, 98), span(0, 97)}, span(0, 98)},
		"one within another":              {[]job.Listening{span(0, 98), span(20, 50)}, span(0, 98)},
		"one after the other":             {[]job.Listening{span(50, 98), span(0, 52)}, span(0, 98)},
		"one after the other, in time":    {[]job.Listening{span(60, 98), span(0, 50)}, span(0, 98)},
		"one after the other, with a gap": {[]job.Listening{span(61, 98), span(0, 50)}, span(61, 98)},
		"a gap that a third one fills":    {[]job.Listening{span(61, 98), span(0, 50), span(45, 55)}, span(0, 98)},
		"nobody any more":                 {[]job.Listening{span(0, 40), span(10, 50)}, span(0, 50)},
		"by a clock that was ahead":       {[]job.Listening{span(0, 500), span(300, 500)}, span(0, 100)},
	} {
		if got := job.Heard(c.spans, at(100)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
