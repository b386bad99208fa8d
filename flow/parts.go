package flow

import (
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// parseParts parses parts such as key=input.customer,window=30s. some is false for "none".
func parseParts(field, text string, names map[string]func(value string) error, hint string) (some bool, err error) {
	if strings.TrimSpace(text) == "none" {
		return false, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(part, "=")
		set, known := names[strings.TrimSpace(name)]
		message := "cannot be read at " + strconv.Quote(part)
		if found = found && known; found {
			if err = set(strings.TrimSpace(value)); err != nil {
				message += ": " + err.Error()
			}
		}
		if !found || err != nil {
			return false, core.InvalidField(field, text, message, hint)
		}
	}
	return true, nil
}

func textInto(to *string) func(string) error {
	return func(value string) error {
		*to = value
		return nil
	}
}

func durationInto(to *core.Duration) func(string) error {
	return func(value string) (err error) {
		*to, err = core.ParseDuration(value)
		return err
	}
}

func keyText(key string) string {
	if key == "" {
		return ""
	}
	return "key=" + key + ","
}
