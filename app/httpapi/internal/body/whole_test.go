package body

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

func TestIntegersWithAZeroFraction(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{
		"10.0": "10", "1e1": "10", "1E+1": "10", "1.50e1": "15", "-3.000": "-3", "-0.0": "0", "100e-2": "1", "0.0": "0", "0e5": "0",
		"10": "", "1.5": "", "1e-1": "", "1e400": "", "1e99999999999999999999": "", "12.5e0": "", "0.1": "",
		"1" + strings.Repeat("0", 50) + ".0": "",
	} {
		if got, is := integerOf(number); got != want || is != (want != "") {
			t.Errorf("%s: got %q, want %q", number, got, want)
		}
	}
}

func TestNumbersOfIntegerFieldsAreTakenHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	type inner struct {
		N int64 `json:"n"`
	}
	type outer struct {
		Priority *int            `json:"priority"`
		Share    float64         `json:"share"`
		Input    json.RawMessage `json:"input"`
		Any      any             `json:"any"`
		Small    uint8           `json:"small"`
		All      []inner         `json:"all"`
		Counts   map[string]int  `json:"counts"`
		Wait     core.Duration   `json:"wait"`
		Text     string          `json:"text"`
	}
	var got outer
	err := Decode([]byte(`{"priority": 10.0, "share": 1.0, "input": {"n": 10.0, "e": 1e1}, "any": 2.0, "small": 2.55e2,
		"all": [{"n": 1}, {"n": 2.0}], "counts": {"a": 3e0}, "wait": "1m", "text": "4.0"}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	if *got.Priority != 10 || got.Share != 1 || got.Small != 255 || got.All[1].N != 2 || got.Counts["a"] != 3 || got.Text != "4.0" {
		t.Errorf("%+v", got)
	}
	if string(got.Input) != `{"n": 10.0, "e": 1e1}` {
		t.Errorf("a free-form document was changed: %s", got.Input)
	}
	for body, words := range map[string]string{
		`{"priority": 10.5}`:              "priority: is not a whole number",
		`{"small": 2.56e2}`:               "small",
		`{"priority": 1e400}`:             "priority",
		`{"priority": 1.0, "other": 1}`:   "other",
		`{"priority": 1.0} x`:             "body",
		`{"priority": 1.0, "priority":2}`: "stands twice",
	} {
		if err := Decode([]byte(body), new(outer)); err == nil || !strings.Contains(said(err), words) {
			t.Errorf("%s: got %v, want %s", body, err, words)
		}
	}
}

func said(err error) string {
	var e *core.Error
	text := err.Error()
	if errors.As(err, &e) {
		for _, f := range e.Fields {
			text += "; " + f.Field + ": " + f.Message
		}
	}
	return text
}
