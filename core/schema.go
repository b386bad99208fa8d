package core

import (
	"errors"
	"strconv"
)

// Schema is the schema version of a database and the version that this program knows.
//
// A migration that only adds does not change Floor: older programs go on working. A migration that removes or changes
// something that older programs use raises Floor, and these programs stop.
type Schema struct {
	Version int64 // of the database
	Floor   int64 // the oldest version that a program must know to use the database; 0: unknown
	Known   int64 // the newest version that this program knows
}

// ErrOutdated is in the chain of every error that means that this program is too old for its database.
var ErrOutdated = errors.New("this program is too old for its database")

// ErrDamaged is in the chain of every error that means that the file of a database is damaged.
var ErrDamaged = errors.New("the database is damaged")

// Serves reports whether this program may use the database, now or after a migration.
func (s Schema) Serves() bool { return s.Floor <= s.Known }

// Refuse returns the error of a program that is too old.
func (s Schema) Refuse(code Code) *Error {
	return &Error{
		Code:    code,
		Message: "this belfry is too old for its database",
		Fields:  []FieldError{{Field: "schema_version", Value: strconv.FormatInt(s.Known, 10), Message: "must be " + strconv.FormatInt(s.Floor, 10) + " or newer"}},
		Hint:    "start the belfry that migrated the database, or a newer one",
		Err:     ErrOutdated,
	}
}

// Check returns the check of the schema for health reports.
func (s Schema) Check() Check {
	c := Check{Name: "schema", OK: s.Serves() && s.Version >= s.Known}
	switch {
	case c.OK:
	case !s.Serves():
		c.Detail = "the database needs version " + strconv.FormatInt(s.Floor, 10) + " or newer, and this belfry knows " + strconv.FormatInt(s.Known, 10)
		c.Fix = "run a newer belfry"
	default:
		c.Detail = "version " + strconv.FormatInt(s.Version, 10) + ", and this belfry needs " + strconv.FormatInt(s.Known, 10)
		c.Fix = "run: belfry migrate"
	}
	return c
}
