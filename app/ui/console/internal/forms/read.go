package forms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/view"
)

// JSONFault returns the fault of a JSON text with its position, or "".
func JSONFault(text string) string {
	var v json.RawMessage
	dec := json.NewDecoder(strings.NewReader(text))
	err := dec.Decode(&v)
	if err == nil {
		if rest := strings.TrimSpace(text[dec.InputOffset():]); rest != "" {
			return place(text, dec.InputOffset()) + " something stands behind the end of the value"
		}
		return ""
	}
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) {
		return place(text, wrong.Offset) + " " + wrong.Error()
	}
	return "it ends too early"
}

// place is where a byte of a text is, for people.
func place(text string, offset int64) string {
	before := []byte(text)[:min(max(int(offset)-1, 0), len(text))]
	return fmt.Sprintf("line %d, column %d:", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
}

// ReadTime reads a time as people write it, in a zone unless it says its own.
func ReadTime(fieldName, text, zone string) (time.Time, error) {
	at, err := cron.LoadZone(zone)
	if err != nil {
		at = time.UTC // the zone has a fault of its own
	}
	if t, ok := cron.ReadTime(text, at); ok {
		return t, nil
	}
	return time.Time{}, core.InvalidField(fieldName, text, "is not a time", "write 2026-12-24 18:00 for "+at.String()+", or 2026-12-24T18:00:00Z")
}

// InZone writes an instant as readTime reads it.
func InZone(t time.Time, zone string) string {
	if t.IsZero() {
		return ""
	}
	at, err := cron.LoadZone(zone)
	if err != nil {
		at = time.UTC
	}
	if local := t.In(at); local.Second() != 0 {
		return local.Format("2006-01-02 15:04:05")
	}
	return t.In(at).Format("2006-01-02 15:04")
}

// IsFree refuses the name of a new thing that is taken: to save it would
// replace the other one.
func IsFree(name, noun string, read func() error) error {
	if name == "" {
		return core.InvalidField("name", "", "is missing", "")
	}
	switch err := read(); {
	case core.CodeOf(err) == core.NotFound:
		return nil
	case err != nil:
		return err
	}
	e := core.Errorf(core.Conflict, "there is a %s %q already", noun, name).WithHint("edit that one, or choose another name")
	e.Fields = []core.FieldError{{Field: "name", Value: name, Message: "is taken"}}
	return e
}

// DocumentFilter is the page of a list that is asked for.
func DocumentFilter(p *frame.Page) view.DocumentFilter {
	return view.DocumentFilter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace}
}
