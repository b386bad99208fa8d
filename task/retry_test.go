package task

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
)

// plainRetry waits 10 s, 20 s, 40 s and so on, without jitter.
var plainRetry = Retry{Jitter: -1}.WithDefaults()

func TestRetryDelays(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		retry Retry
		want  string
	}{
		{"the default doubles up to an hour", Retry{Jitter: -1}, "10s 20s 40s 1m20s 2m40s 5m20s 10m40s 21m20s 42m40s 1h0m0s 1h0m0s"},
		{"linear", Retry{Backoff: BackoffLinear, Delay: span("1m"), MaxDelay: span("5m"), Jitter: -1}, "1m0s 2m0s 3m0s 4m0s 5m0s 5m0s 5m0s 5m0s 5m0s 5m0s 5m0s"},
		{"fixed", Retry{Backoff: BackoffFixed, Delay: span("7s"), Jitter: -1}, strings.TrimSpace(strings.Repeat("7s ", 11))},
		{"a delay over the cap lifts the cap", Retry{Delay: span("2h"), Jitter: -1}, strings.TrimSpace(strings.Repeat("2h0m0s ", 11))},
	} {
		r := row.retry.WithDefaults()
		var got []string
		for n := 1; n <= 11; n++ {
			got = append(got, r.After(1, n).String())
		}
		if text := strings.Join(got, " "); text != row.want {
			t.Errorf("%s: %s, want %s", row.name, text, row.want)
		}
	}
	if got := plainRetry.After(1, 0); got != 10*time.Second {
		t.Errorf("before the first failure: %s", got)
	}
	if got := plainRetry.After(1, 1_000_000); got != time.Hour {
		t.Errorf("after a million failures: %s", got)
	}
}

// The retries of attempts that did not begin outlast an outage of some minutes.
func TestDelaysAfterFaultsOfTheMachine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		retry Retry
		lost  bool
		want  string
	}{
		{"the default", Retry{Jitter: -1}, false, "10s 1m0s 3m0s 5m0s 5m0s 5m20s"},
		{"a lost worker", Retry{Jitter: -1}, true, "0s 20s 40s 1m20s 2m40s 5m20s"},
		{"a cap", Retry{MaxDelay: span("2m"), Jitter: -1}, false, "10s 1m0s 2m0s 2m0s 2m0s 2m0s"},
		{"longer delays", Retry{Backoff: BackoffFixed, Delay: span("10m"), Jitter: -1}, false, "10m0s 10m0s 10m0s 10m0s 10m0s 10m0s"},
	} {
		var got []string
		for n := 1; n <= 6; n++ {
			got = append(got, row.retry.WithDefaults().AfterFault(1, n, row.lost).String())
		}
		if text := strings.Join(got, " "); text != row.want {
			t.Errorf("%s: %s, want %s", row.name, text, row.want)
		}
	}
	if d := (Retry{}).WithDefaults().AfterFault(1, 3, false); d < 144*time.Second || d >= 3*time.Minute {
		t.Errorf("with jitter: %s", d)
	}
}

func drawRetry(t *rapid.T) Retry {
	return Retry{
		MaxAttempts: rapid.IntRange(1, 100).Draw(t, "max attempts"),
		Backoff:     rapid.SampledFrom([]Backoff{BackoffExponential, BackoffLinear, BackoffFixed}).Draw(t, "backoff"),
		Delay:       core.Duration(rapid.Int64Range(0, int64(MaxRetryDelay)).Draw(t, "delay")),
		MaxDelay:    core.Duration(rapid.Int64Range(0, int64(MaxRetryDelay)).Draw(t, "max delay")),
		Jitter:      rapid.SampledFrom([]float64{-1, 0.2, 0.5, 1}).Draw(t, "jitter"),
		Infra:       rapid.IntRange(-1, 20).Draw(t, "infra"),
		OnLost:      rapid.SampledFrom([]OnLost{OnLostRetry, OnLostFail}).Draw(t, "on lost"),
	}.WithDefaults()
}

func TestRetryDelaysStayWithinTheirBoundsAndAreTheSameAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRetry(t)
		job, failures := rapid.Int64Range(1, 1<<40).Draw(t, "job"), rapid.IntRange(1, 100).Draw(t, "failures")
		got := r.After(job, failures)
		bare := r
		bare.Jitter = -1
		longest := bare.After(job, failures)
		shortest := time.Duration(float64(longest) * (1 - max(r.Jitter, 0)))
		if got > longest || got < shortest-time.Millisecond || got < 0 || longest > r.MaxDelay.D() {
			t.Fatalf("%s is outside %s to %s", got, shortest, longest)
		}
		if again := r.After(job, failures); again != got {
			t.Fatalf("%s, and then %s", got, again)
		}
	})
}

func TestRetryDelaysOfManyJobsAreSpread(t *testing.T) {
	t.Parallel()
	r := Retry{Delay: span("100s"), Jitter: 1, MaxDelay: span("100s")}.WithDefaults()
	var tenths [10]int
	for job := range int64(10_000) {
		tenths[min(9, int(r.After(job+1, 1)/(10*time.Second)))]++
	}
	for i, n := range tenths {
		if n < 800 || n > 1200 {
			t.Errorf("%d of 10000 jobs wait between %d and %d s", n, 10*i, 10*i+10)
		}
	}
}
