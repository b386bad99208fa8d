package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTimeOfABusyMachineIsNoWork(t *testing.T) {
	t.Parallel()
	s, err := NewScope(json.RawMessage(`{"n":2000}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.meter.until = time.Now().Add(-time.Hour) // the time is up, and went to other programs
	items, err := s.List("1..input.n")
	for k, item := range items {
		if err == nil {
			_, err = s.Object(map[string]string{"item": "item + 0 * count(1..100, # > 50)"}, item, k)
		}
	}
	if err != nil || len(items) != 2000 {
		t.Error(len(items), "items:", err)
	}
}

func TestWorkIsBoundedByProcessorTime(t *testing.T) {
	t.Parallel()
	s, err := NewScope(json.RawMessage(fmt.Sprintf(`{"text":%q}`, strings.Repeat("ab", 100_000))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.meter.until = time.Now().Add(-time.Hour)
	for range maxSteps { // each is little work, and none looks at the time by itself
		if _, err = s.Holds("input.text matches '(a|b)*c'"); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrSpent) || s.meter.used < Limit || s.meter.bound {
		t.Error(err, s.meter.used, s.meter.bound)
	}
}
