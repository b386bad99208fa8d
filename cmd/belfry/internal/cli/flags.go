package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/task"
)

// Set stores the value of a flag in to, if the flag was given.
func Set[T any](given bool, value T, to *T) {
	if given {
		*to = value
	}
}

// Duration reads the duration of a flag, if it was given.
func Duration(given func(string) bool, name, text string, to *core.Duration) error {
	if !given(name) {
		return nil
	}
	d, err := core.ParseDuration(text)
	if err != nil {
		return core.InvalidField("--"+name, "", err.Error(), "")
	}
	*to = d
	return nil
}

// Instant reads a time with an offset, or a local time in a zone.
func Instant(given bool, field, text, zone string, to *time.Time) error {
	if !given {
		return nil
	}
	loc, err := cron.LoadZone(cmp.Or(zone, "UTC"))
	if err != nil {
		return core.InvalidField("--zone", zone, err.Error(), "an IANA name such as Europe/Sofia")
	}
	return instantIn(loc, field, text, to)
}

func instantIn(loc *time.Location, field, text string, to *time.Time) error {
	if t, ok := cron.ReadTime(text, loc); ok {
		*to = t
		return nil
	}
	return core.InvalidField(field, text, "is not a time", "write '2026-12-24 18:00', or 2026-12-24T18:00:00+02:00")
}

// Before reads a past time: a local time, or a duration before now.
func Before(now time.Time, field, text string, to *time.Time) error {
	return fromNow(now, -1, field, text, to)
}

// Expiry reads --expires: a local time, or a duration from now.
func Expiry(now time.Time, text string, to *time.Time) error {
	return fromNow(now, 1, "--expires", text, to)
}

func fromNow(now time.Time, sign time.Duration, field, text string, to *time.Time) error {
	if text == "" {
		return nil
	}
	if d, err := core.ParseDuration(text); err == nil {
		*to = now.Add(sign * d.D())
		return nil
	}
	return instantIn(time.Local, field, text, to)
}

// NotNegative refuses a negative number.
func NotNegative[N int | int64 | time.Duration](flag string, n N, hint string) error {
	if n < 0 {
		return core.InvalidField(flag, fmt.Sprint(n), "is negative", hint)
	}
	return nil
}

// Retries reads --retries, the number of tries after the first.
func Retries(given func(string) bool, n int, to *task.Retry) error {
	if err := NotNegative("--retries", n, "0 never retries"); err != nil {
		return err
	}
	Set(given("retries"), n+1, &to.MaxAttempts)
	return nil
}

// JSONText reads --input.
func JSONText(given bool, text string, to *json.RawMessage) error {
	if !given {
		return nil
	}
	if !json.Valid([]byte(text)) {
		hint := `such as '{"name": "World"}', or '"text"'`
		if file, is := strings.CutPrefix(text, "@"); is {
			hint = `that of a file is given as --input "$(cat ` + file + `)"`
		}
		return core.InvalidField("--input", text, "is not JSON", hint)
	}
	*to = json.RawMessage(text)
	return nil
}

// NameValues reads entries such as NAME=VALUE; sep is the separator.
func NameValues(flag string, entries []string, sep string) (map[string]string, error) {
	m := map[string]string{}
	for _, e := range entries {
		name, value, found := strings.Cut(e, sep)
		if !found || name == "" {
			return nil, core.InvalidField(flag, e, "is not a name and a value", "write NAME"+sep+"VALUE")
		}
		if sep == ":" {
			value = strings.TrimSpace(value)
		}
		m[name] = value
	}
	return m, nil
}

// NameAndRest splits "NAME -- program argument…".
func NameAndRest(cmd *cobra.Command, args []string) (name string, rest []string, err error) {
	before := args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		before, rest = args[:dash], args[dash:]
	}
	if len(before) > 1 {
		return "", nil, core.InvalidField("NAME", before[1], "is one argument too many", "write a program and its arguments after --")
	}
	if len(before) == 1 {
		name = before[0]
	}
	return name, rest, nil
}

// NoRest refuses superfluous arguments.
func NoRest(args []string) error {
	if len(args) > 0 {
		return core.InvalidField("NAME", args[0], "is one argument too many", "")
	}
	return nil
}

// Choice refuses an unknown word. An empty word is valid.
func Choice[T ~string](flag string, word T, known ...T) error {
	texts := make([]string, len(known))
	for i, k := range known {
		if word == k {
			return nil
		}
		texts[i] = string(k)
	}
	if word == "" {
		return nil
	}
	return core.InvalidField(flag, string(word), "is not a choice", "one of "+strings.Join(texts, ", "))
}

// Edited returns a copy for changes, because an answer of a store may be shared.
func Edited[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	v := *p
	return &v
}
