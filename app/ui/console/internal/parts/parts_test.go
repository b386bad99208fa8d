package parts

import (
	"testing"

	"github.com/belfry-run/belfry/core"
)

// Each fault is printed once: at its field, or above the form.
func TestFaultsStandOnce(t *testing.T) {
	err := &core.Error{Code: core.Invalid, Message: "the queue is not saved", Fields: []core.FieldError{{Field: "name", Message: "is missing"}, {Field: "other", Message: "is wrong"}}}
	rest := above(err, []Field{NewField("name", "Name", "text", "", "", err)})
	if len(rest.Faults) != 1 || rest.Faults[0].Field != "other" || rest.Hint != "Correct the marked fields." {
		t.Errorf("%+v", rest)
	}
	if rest = above(err); len(rest.Faults) != 2 || rest.Hint != "" {
		t.Errorf("%+v", rest)
	}
	for said, want := range map[string]string{`token "is bad"`: `Invalid token "is bad".`, "job search": "Invalid job search.", "this calendar cannot be read": "This calendar cannot be read."} {
		if got := above(&core.Error{Code: core.Invalid, Message: said, Fields: err.Fields}).Message; got != want {
			t.Errorf("%s: %s", said, got)
		}
	}
	if above(nil) != nil {
		t.Error("nothing was wrong")
	}
}

func TestDismissIsNoSecondCancel(t *testing.T) {
	if got := (Confirm{Button: "Cancel"}).Dismiss(); got != "Go back" {
		t.Error(got)
	}
	if got := (Confirm{Button: "Delete"}).Dismiss(); got != "Cancel" {
		t.Error(got)
	}
}
