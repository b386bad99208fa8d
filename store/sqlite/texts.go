package sqlite

import (
	"errors"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// SQLite stores any bytes as text. Texts that PostgreSQL rejects are rejected here too, so that a program tried on one database
// does not fail on the other.

var errNoText = errors.New("a text is not UTF-8, or has NUL")

// noList stands for a list that contains an invalid text.
type noList struct{}

// checkTexts checks the parameters of a statement.
func checkTexts(args []any) error {
	for _, a := range args {
		fine := true
		switch a := a.(type) {
		case string:
			fine = core.IsText(a)
		case *string:
			fine = a == nil || core.IsText(*a)
		case []string:
			fine = areTexts(a)
		case []*string:
			for _, text := range a {
				fine = fine && (text == nil || core.IsText(*text))
			}
		case noList:
			fine = false
		}
		if !fine {
			return base.NoText(errNoText)
		}
	}
	return nil
}

func areTexts(list []string) bool {
	for _, text := range list {
		if !core.IsText(text) {
			return false
		}
	}
	return true
}
