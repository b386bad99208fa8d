package forms

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// AllFaults joins the error of a refused form with the further faults of its fields, so that one edit mends all. A
// field that could not be read has no second fault, and neither has a secret that stands as it was shown.
func AllFaults[T interface{ WithDefaults() T }](refused error, typed T, now time.Time) error {
	if code := core.CodeOf(refused); code != core.Invalid && code != core.Conflict {
		return refused
	}
	more := parts.AsError(validate(typed, now))
	if more == nil {
		return refused
	}
	also := *more
	also.Fields = faultsOf(typed, now)
	return Both(refused, &also)
}

func validate[T interface{ WithDefaults() T }](typed T, now time.Time) error {
	switch v := any(typed.WithDefaults()).(type) {
	case interface{ Validate() error }:
		return v.Validate()
	case interface{ Validate(now time.Time) error }:
		return v.Validate(now)
	}
	return nil
}

// faultsOf are the faults of the fields of a definition, but of secrets that stand as they were shown.
func faultsOf[T interface{ WithDefaults() T }](typed T, now time.Time) (faults []core.FieldError) {
	doc := DocumentOf(typed)
	for _, f := range parts.FaultsOf(validate(typed, now)) {
		if f.Field != "namespace" && doc.At(f.Field) != string(core.Redacted) {
			faults = append(faults, f)
		}
	}
	return faults
}

// Both is the first of two errors with the faults of the second that are of other fields.
func Both(first, second error) error {
	a, b := parts.AsError(first), parts.AsError(second)
	if a == nil || b == nil || len(a.Fields) == 0 || len(b.Fields) == 0 {
		return cmp.Or(first, second)
	}
	both := *a
	if both.Code == core.Invalid {
		both.Message = "invalid input" // of which the first says less than half
	}
	both.Fields = append([]core.FieldError(nil), a.Fields...)
	for _, f := range b.Fields {
		said := false
		for _, other := range a.Fields {
			said = said || within(f.Field, other.Field) || within(other.Field, f.Field)
		}
		if !said {
			both.Fields = append(both.Fields, f)
		}
	}
	return &both
}

// within reports that a field is another one or in it.
func within(field, other string) bool {
	rest, is := strings.CutPrefix(field, other)
	return is && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// AtFirst moves the fault that one of several settings of a kind must be given to the first of them, which forms show first.
// The prefix is the path of the kind's settings, with a dot.
func AtFirst(err error, prefix string, fields []setting.Field) error {
	e := parts.AsError(err)
	if e == nil {
		return err
	}
	moved := *e
	moved.Fields = slices.Clone(e.Fields)
	for i, fault := range moved.Fields {
		at := slices.IndexFunc(fields, func(f setting.Field) bool { return prefix+f.Path == fault.Field && f.OneOf != "" })
		if at >= 0 && fault.Value == "" {
			first := slices.IndexFunc(fields, func(f setting.Field) bool { return f.OneOf == fields[at].OneOf })
			moved.Fields[i].Field = prefix + fields[first].Path
		}
	}
	return &moved
}
