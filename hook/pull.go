package hook

import (
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Numbered is an event of a pulled hook with its place in the order of that hook.
type Numbered struct {
	Event
	Cursor string `json:"cursor" doc:"Comes back as after, or to be acknowledged"`
}

// Pulled are the next events of a pulled hook, in its order.
type Pulled struct {
	Events []Numbered `json:"events"`
	Next   string     `json:"next" doc:"Comes back as after"`
	Missed int64      `json:"missed,omitempty" doc:"Events between after and next that are not in it, because they are no longer kept"`
}

// Acknowledged is a place up to which the events of a pulled hook were worked on.
type Acknowledged struct {
	Cursor string `json:"cursor" doc:"Of the last event that was worked on"`
}

// Place is a place in the order of a pulled hook: so many of its events come before. A cursor is the text of one.
type Place struct{ Hook, Seq int64 }

// String is the cursor. It names the hook, because another of the same name begins anew.
func (p Place) String() string {
	return strconv.FormatInt(p.Hook, 10) + "." + strconv.FormatInt(p.Seq, 10)
}

// maxCursor bounds the text of a place, in bytes.
const maxCursor = 100

// ParsePlace reads a cursor of a hook whose last event has a place. Any other is refused, under the name of its field.
func ParsePlace(field, cursor string, last Place) (Place, error) {
	if len(cursor) > maxCursor {
		return Place{}, core.InvalidField(field, strings.ToValidUTF8(cursor[:maxCursor], "")+"...", "is not a cursor", "take one of an answer, or 0 for all events that are kept")
	}
	of, seq, _ := strings.Cut(cursor, ".")
	p := Place{}
	var errs [2]error
	p.Hook, errs[0] = strconv.ParseInt(of, 10, 64)
	p.Seq, errs[1] = strconv.ParseInt(seq, 10, 64)
	switch {
	case errs[0] != nil || errs[1] != nil || p.Seq < 0 || p.String() != cursor:
		return p, core.InvalidField(field, cursor, "is not a cursor", "take one of an answer, or 0 for all events that are kept")
	case p.Hook != last.Hook:
		return p, core.InvalidField(field, cursor, "is of another hook", "it was deleted and made anew; begin with 0 for all events that are kept")
	case p.Seq > last.Seq:
		return p, core.InvalidField(field, cursor, "is ahead of the events", "the database was restored; begin with 0 for all events that are kept")
	}
	return p, nil
}
