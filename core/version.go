package core

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Version returns the version of a definition, or "" if it was never saved. A generation alone stands for each of its versions.
func Version(generation int64, updated time.Time) string {
	version := strconv.FormatInt(generation, 10) + "-"
	if updated.IsZero() {
		return strings.TrimPrefix(version, "0-")
	}
	return version + strconv.FormatInt(updated.UnixMicro(), 36)
}

// NotThere is the version for [WithVersion] with which a change creates a
// definition and never overwrites an existing one.
const NotThere = "none"

type versionKey struct{}

// WithVersion returns a context under which changes apply only to a definition of
// this version. If the definition has changed since, they fail with a [Conflict].
func WithVersion(ctx context.Context, version string) context.Context {
	return context.WithValue(ctx, versionKey{}, version)
}

// VersionOf returns the version that changes under ctx expect; "" means any.
func VersionOf(ctx context.Context) string {
	expected, _ := ctx.Value(versionKey{}).(string)
	return expected
}

// CheckVersion compares the version that ctx expects, if any, with that of the definition, or "" if it does not exist.
func CheckVersion(ctx context.Context, noun, name, present string, changed, now time.Time) error {
	expected := VersionOf(ctx)
	switch {
	case expected == "" || expected == present || expected == NotThere && present == "" || strings.HasSuffix(expected, "-") && strings.HasPrefix(present, expected):
		return nil
	case expected == NotThere:
		return Errorf(Conflict, "there is a %s %q already", noun, name).WithHint("read it, and change it with its version")
	case present == "":
		return Errorf(Conflict, "%s %q was deleted: your edit is of version %s", noun, name, expected).WithHint("create it again, or leave it")
	}
	ago := strings.TrimSpace(Duration(max(0, now.Sub(changed)).Round(time.Second)).String())
	return Errorf(Conflict, "%s %q was changed %s ago: your edit is of version %s, and version %s is there", noun, name, ago, expected, present).
		WithHint("read it again, and make your change there")
}
