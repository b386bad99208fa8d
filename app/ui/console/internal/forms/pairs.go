package forms

import (
	"errors"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
)

// readPairs reads rows of name and value, and lines of name: value. A row without
// a name and a value is none.
func readPairs(text string, names, values []string) (any, error) {
	pairs := map[string]any{}
	add := func(name, value string) error {
		if _, twice := pairs[name]; twice {
			return fmt.Errorf("has %s twice", name)
		}
		pairs[name] = value
		return nil
	}
	for _, line := range PartsOf(text, "\n") {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return nil, errors.New("has a line without a colon: write Name: value")
		}
		if err := add(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	for i, name := range names {
		value := ""
		if i < len(values) {
			value = strings.ReplaceAll(values[i], "\r\n", "\n")
		}
		name = strings.TrimSpace(name)
		if name == "" && value == "" {
			continue
		}
		if name == "" {
			return nil, fmt.Errorf("has the value %q without a name", parts.Short(40, value))
		}
		if err := add(name, value); err != nil {
			return nil, err
		}
	}
	if len(pairs) == 0 {
		return nil, nil
	}
	return pairs, nil
}
