package job

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

func TestHowFarAJobIsRaised(t *testing.T) {
	t.Parallel()
	const period = core.Duration(10 * time.Minute)
	for name, c := range map[string]struct {
		aging Aging
		want  int
	}{
		"before its first period":                   {Aging{0, 0, 10*time.Minute - 1, 1, 100}, 0},
		"after one":                                 {Aging{0, 0, 10 * time.Minute, 1, 100}, 1},
		"not while others are out of reach":         {Aging{0, 0, 30 * time.Minute, 4, 100}, 0},
		"past others when it comes level with them": {Aging{0, 0, 45 * time.Minute, 3, 100}, 4},
		"several periods at once":                   {Aging{0, 0, 90 * time.Minute, 1, 100}, 9},
		"no higher than the highest that waits":     {Aging{0, 0, 1000 * time.Hour, 5, 5}, 5},
		"from below zero":                           {Aging{-3, 0, 25 * time.Minute, -2, 0}, 2},
		"further than it has been":                  {Aging{0, 4, 61 * time.Minute, 5, 100}, 6},
		"never down":                                {Aging{0, 4, 0, 5, 100}, 4},
		"never down where the highest has gone":     {Aging{0, 4, time.Hour, 5, 2}, 4},
		"not where nothing better waits":            {Aging{7, 0, 1000 * time.Hour, 7, 7}, 0},
		"not by a clock that was set back":          {Aging{0, 0, -time.Hour, 1, 100}, 0},
		"by a wait that is longer than any":         {Aging{-1000, 0, 1<<63 - 1, 1000, 1000}, 2000},
	} {
		if got := c.aging.Raise(period); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := (Aging{0, 3, time.Hour, 4, 9}).Raise(0); got != 3 {
		t.Errorf("without ageing: %d, want what it was", got)
	}
}

func TestAgeingThatCannotBe(t *testing.T) {
	t.Parallel()
	for period, says := range map[core.Duration]string{
		-core.Duration(time.Minute): "10s to 31d", 1: "10s to 31d", MinAgeing - 1: "10s to 31d", MaxAgeing + 1: "10s to 31d",
	} {
		err := Queue{Name: "q", Concurrency: 1, Ageing: period}.Validate()
		if err == nil || !strings.Contains(err.Error(), "ageing") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", period, err)
		}
	}
	for _, period := range []core.Duration{0, MinAgeing, MaxAgeing} {
		if err := (Queue{Name: "q", Concurrency: 1, Ageing: period}).Validate(); err != nil {
			t.Errorf("%s: %v", period, err)
		}
	}
	if err := (Queue{Name: SystemQueue, Concurrency: 1, Ageing: MinAgeing}).Validate(); err == nil {
		t.Error("Belfry's own work ages")
	}
}
