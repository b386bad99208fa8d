package base

import "github.com/belfry-run/belfry/core"

// NoText is the answer to a statement with a text that the databases do not keep,
// see [core.IsText]. Who knows the field has refused it before.
func NoText(err error) error {
	return &core.Error{
		Code:    core.Invalid,
		Message: "a text contains a character that the database cannot keep, such as NUL",
		Hint:    "leave it out",
		Err:     err,
	}
}
