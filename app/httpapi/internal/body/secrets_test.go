package body

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// A value under a misspelt name, or of another shape, may be a secret: its error goes to logs of clients.
func TestNoSecretIsSaidOfABodyThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"http":{"auth":{"bearrer":"kept-from-logs"}}}`,
		`{"htp":{"auth":{"bearer":"kept-from-logs"}}}`,
		`{"http":{"auth":{"bearer":["kept-from-logs"]}}}`,
		`{"http":{"auth":"kept-from-logs"}}`,
		`{"http":{"headers":{"X-Key":{"a":"kept-from-logs"}}}}`,
		`{"http":{"headers":"kept-from-logs"}}`,
		`{"command":{"argv":"kept-from-logs"}}`,
		`{"http":{"skip_verify":{"a":"kept-from-logs"}}}`,
		`{"timeout":["kept-from-logs"]}`,
		`{"HTTP":{"auth":{"bearer":"kept-from-logs"}}}`,
	} {
		var e *core.Error
		if err := Decode([]byte(text), new(task.Task)); !errors.As(err, &e) || len(e.Fields) == 0 {
			t.Errorf("%s: %v", text, err)
		} else if said, _ := json.Marshal(e.Fields); strings.Contains(err.Error()+string(said), "kept-from-logs") {
			t.Errorf("%s: %s", text, said)
		}
	}
	var e *core.Error
	if errors.As(Decode([]byte(`{"timeout":90}`), new(task.Task)), &e); len(e.Fields) != 1 || e.Fields[0].Value != "90" {
		t.Errorf("a number is no secret: %+v", e)
	}
}
