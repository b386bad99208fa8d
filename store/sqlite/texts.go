package sqlite

import (
	"errors"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// SQLite keeps any bytes as a text. Texts that PostgreSQL refuses are refused here too: a
// program that was tried on one database must not meet it on the other.

var errNoText = errors.New("a text is not UTF-8, or has NUL")

// noList stands for a list with a text that is none.
type noList struct{}

// checkTexts looks at the parameters of a statement.
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
