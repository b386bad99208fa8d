package expression

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNumbersArePassedOnAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, number := range []string{
		"0", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "18446744073709551615", "-9223372036854775809", "123456789012345678901234567890",
		"0.1", "1e+308", "1e400", "-1e400",
	} {
		text := `{"n":[` + number + `]}`
		s, err := NewScope(json.RawMessage(text), map[string]Ended{"a": {Output: must(Decode(json.RawMessage(text)))}})
		if err != nil {
			t.Fatal(number, err)
		}
		got, err := s.Object(map[string]string{"one": "input.n[0]", "all": "steps.a.output", "same": "input.n[0] == steps.a.output.n[0]"}, nil, -1)
		if want := `{"all":` + text + `,"one":` + number + `,"same":true}`; err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", number, got, err)
		}
	}
}

func TestNumbersThatOverflowAreRefused(t *testing.T) {
	t.Parallel()
	s, err := NewScope(json.RawMessage(`{"max":9223372036854775807,"min":-9223372036854775808,"huge":9223372036854775808,"one":1,"half":0.5,"text":"a","far":1e300,"list":[9223372036854775807,1],"parts":[{"n":9223372036854775807},{"n":1}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"input.max + 1":             "too large",
		"input.min + -1":            "too large",
		"input.max - -1":            "too large",
		"input.min - 1":             "too large",
		"input.max * 2":             "too large",
		"input.min * -1":            "too large",
		"-1 * input.min":            "too large",
		"input.huge + 1":            "+",
		"input.huge > 1":            ">",
		"input.text - 1":            "-",
		"input.max - 1":             "9223372036854775806",
		"input.min + 1":             "-9223372036854775807",
		"input.max * -1":            "-9223372036854775807",
		"input.max * 0":             "0",
		"0 * input.min":             "0",
		"input.one + input.half":    "1.5",
		"input.one * input.half":    "0.5",
		"input.one - input.half":    "0.5",
		"float(input.max) + 1.0":    "9223372036854776000",
		`input.text + "b"`:          `"ab"`,
		"input.max + input.min + 5": "4",

		"9223372036854775807 + 1":             "too large",
		"9223372036854775807 * 2":             "too large",
		"-9223372036854775807 - 2":            "too large",
		"len(input.list) * input.max":         "too large",
		"len(input.list)*9223372036854775807": "too large",
		"-input.min":                          "too large",
		"-input.max":                          "-9223372036854775807",
		"-input.half":                         "-0.5",
		"-(1 + 2)":                            "-3",
		"abs(input.min)":                      "too large",
		"abs(input.min + 1)":                  "9223372036854775807",
		"abs(-0.5)":                           "0.5",
		"int(input.far)":                      "too large",
		"int(-input.far)":                     "too large",
		"int(1.9)":                            "1",
		`int("7")`:                            "7",
		`int("x")`:                            "int(x)",
		"sum(input.list)":                     "too large",
		"sum([input.min, -1])":                "too large",
		"sum([9223372036854775807, 1])":       "too large",
		"sum(input.parts, .n)":                "too large",
		"sum(map(input.parts, .n))":           "too large",
		"sum(input.parts, #.n - 1)":           "9223372036854775806",
		"sum(input.list, float(#))":           "9223372036854776000",
		"sum([input.max, 1.0])":               "9223372036854776000",
		"sum([1, 2, 3])":                      "6",
		"sum(1..4)":                           "10",
		"sum([])":                             "0",
		`sum(["a"])`:                          "int + string",
		"sum(input.one)":                      "sum is of a list",
	} {
		got, err := s.Object(map[string]string{"v": text}, nil, -1)
		said := strings.TrimSuffix(strings.TrimPrefix(string(got), `{"v":`), "}")
		if err != nil {
			said = err.Error()
		}
		if said != want && (err == nil || !strings.Contains(said, want)) {
			t.Errorf("%s: got %s, want %s", text, said, want)
		}
	}
}

func must(v any, err error) any {
	if err != nil {
		panic(err)
	}
	return v
}
