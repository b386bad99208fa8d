package weigh_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/belfry-run/belfry/internal/weigh"
)

type row []any

func (r row) Scan(dest ...any) error {
	for i, d := range dest {
		switch d := d.(type) {
		case sql.Scanner:
			if err := d.Scan(r[i]); err != nil {
				return err
			}
		case *string:
			*d = r[i].(string)
		case *int64:
			*d = r[i].(int64)
		case **string:
			if text, is := r[i].(string); is {
				*d = &text
			}
		}
	}
	return nil
}

func TestTextsAreCounted(t *testing.T) {
	t.Parallel()
	var text, optional sql.NullString
	var plain string
	var number int64
	var there, away *string
	w := weigh.Row{In: row{"1234", []byte("12345678"), "12", int64(7), "1", nil}}
	places := []any{&text, &optional, &plain, &number, &there, &away}
	for n := 1; n <= 2; n++ {
		if err := w.Scan(places...); err != nil {
			t.Fatal(err)
		}
		if want := n * (4 + 8 + 2 + 1); w.Bytes != want {
			t.Errorf("%d bytes after %d rows, want %d", w.Bytes, n, want)
		}
	}
	if text.String != "1234" || optional.String != "12345678" || plain != "12" || number != 7 || there == nil || *there != "1" || away != nil {
		t.Errorf("scanned %v %v %q %d %v %v", text, optional, plain, number, there, away)
	}
	if places[0] != any(&text) {
		t.Error("the places of the caller were changed")
	}
}

type failing struct{}

var errScan = errors.New("cannot scan")

func (failing) Scan(any) error { return errScan }

func TestAFailedScanIsReported(t *testing.T) {
	t.Parallel()
	w := weigh.Row{In: row{"1234"}}
	if err := w.Scan(failing{}); !errors.Is(err, errScan) {
		t.Errorf("got %v, want %v", err, errScan)
	}
}
