package alert

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

// refusal is one bad input: its change to a good input, and the field and the text
// that the error must contain.
type refusal[T any] struct {
	name   string
	change func(*T)
	field  string
	says   string
}

// refuses checks that the good input is valid, and that each row is refused with an
// error about its field.
func refuses[T any](t *testing.T, good func() T, validate func(T) error, rows []refusal[T]) {
	t.Helper()
	t.Parallel()
	if err := validate(good()); err != nil {
		t.Fatalf("the good one is refused: %v", err)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bad := good()
			row.change(&bad)
			err := validate(bad)
			if row.field == "" {
				if err != nil {
					t.Errorf("it is good and was refused: %v", err)
				}
				return
			}
			var e *core.Error
			if !errors.As(err, &e) || e.Code != core.Invalid {
				t.Fatalf("got %v, want an invalid input", err)
			}
			if len(e.Fields) != 1 || e.Fields[0].Field != row.field || !strings.Contains(e.Fields[0].String(), row.says) {
				t.Errorf("got  %v\nwant %s: … %s", e.Fields, row.field, row.says)
			}
		})
	}
}

var long = strings.Repeat("x", 5000)

func manyOf(n int, text string) (out []string) {
	return slices.Repeat([]string{text}, n)
}
