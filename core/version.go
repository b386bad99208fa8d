package core

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Version is empty for what was never saved.
func Version(generation int64, updated time.Time) string {
	if updated.IsZero() {
		return ""
	}
	return strconv.FormatInt(generation, 10) + "-" + strconv.FormatInt(updated.UnixMicro(), 36)
}

// NotThere is the version that a definition has to have for [WithVersion] to create
// it, and change none that exists.
const NotThere = "none"

type versionKey struct{}

// WithVersion makes changes under the context apply only to a definition that has
// this version: what another one has changed meanwhile is a [Conflict].
func WithVersion(ctx context.Context, version string) context.Context {
	return context.WithValue(ctx, versionKey{}, version)
}

// VersionOf is the version that a change under this context expects; empty: any.
func VersionOf(ctx context.Context) string {
	expected, _ := ctx.Value(versionKey{}).(string)
	return expected
}

// CheckVersion compares the version that the context expects, if any, with the
// one that is there, which is empty for what is not there.
func CheckVersion(ctx context.Context, noun, name, present string, changed, now time.Time) error {
	expected := VersionOf(ctx)
	switch {
	case expected == "" || expected == present || expected == NotThere && present == "":
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
