package forms

import (
	"net/url"
	"testing"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
)

func TestLengthsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"5m": "5m", "5 m": "5m", "5 minutes": "5m", "5 Minutes": "5m", "1 minute": "1m", "5 min.": "5m", "90s": "1m30s", "90 sec": "1m30s", "30 seconds": "30s", "1h30m": "1h30m",
		"1 hour 30 minutes": "1h30m", "1 hour and 30 min": "1h30m", "2 hrs": "2h", "7d": "7d", "7 days": "7d", "1 day, 2 hours": "26h", "2 weeks": "14d", "250ms": "250ms", "250 ms": "250ms", " 10 s ": "10s",
	} {
		if got, err := ReadLength(text); err != nil || got.String() != want {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "five minutes", "5 parsecs", "5 months", "minutes", "-5 minutes", "5 minutes ago", "99999999999 weeks", "1h 5"} {
		if got, err := ReadLength(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// What the API writes, forms read as the same.
func TestLengthsOfTheAPIStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := core.Duration(rapid.Int64Range(0, 1<<58).Draw(t, "d"))
		if got, err := ReadLength(d.String()); err != nil || got != d {
			t.Fatalf("%s is %v, %v", d, got, err)
		}
	})
}

func TestPairsAreReadAndShown(t *testing.T) {
	t.Parallel()
	inputs := []Input{{Path: "command.env", Kind: AsPairs}}
	env := map[string]any{"A": "1", "B": "two: lines\nof it", "C": ""}
	d := Document{"command": map[string]any{"env": env}}
	again := Document{}
	if err := again.Read(inputs, d.Values(inputs)); err != nil {
		t.Fatal(err)
	}
	got, _ := again.At("command.env").(map[string]any)
	for name, value := range env {
		if got[name] != value {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	for _, bad := range []url.Values{
		{"command.env[name]": {"", "A"}, "command.env[value]": {"x", "y"}},
		{"command.env[name]": {"A", "A"}, "command.env[value]": {"x", "y"}},
	} {
		if err := (Document{}).Read(inputs, bad); err == nil {
			t.Errorf("%v is read", bad)
		}
	}
	none := Document{"command": map[string]any{"env": env, "shell": "true"}}
	if err := none.Read(inputs, url.Values{"command.env[name]": {"", ""}, "command.env[value]": {"", ""}}); err != nil || none.At("command.env") != nil || none.At("command.shell") != "true" {
		t.Errorf("%v %v", none, err)
	}
}

// What a form does not show outlives it, to the digit.
func TestRestOfADocument(t *testing.T) {
	t.Parallel()
	d := RestOf(`{"queue": "slow", "input": {"id": 12345678901234567890}, "retry": {"infra": 3, "delay": "5s"}}`)
	rest := RestOf(d.Rest([]Input{{Path: "queue"}, {Path: "retry.delay"}}))
	if rest.At("queue") != nil || rest.At("retry.delay") != nil || RestOf("no").At("x") != nil {
		t.Errorf("%v", rest)
	}
	if got := rest.Rest(nil); got != `{"input":{"id":12345678901234567890},"retry":{"infra":3}}` {
		t.Error(got)
	}
}
