package cron

import (
	"fmt"
	"io"

	"github.com/belfry-run/belfry/cron/internal/ics"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// ParseICS reads an iCalendar file as a calendar that is closed during each of its events, and takes the SUMMARY as the
// reason. Whole days and times without a zone are read in o.Zone, or if that is nil in the file's X-WR-TIMEZONE.
//
// At most limit bytes are read; a longer file is refused, and so is one with more than 10,000 events or 1,000 recurring
// ones. Cancelled events, and events that never happen or have no length, close nothing. An event that moves one occurrence of another
// (RECURRENCE-ID) takes its place. Errors name the event.
func ParseICS(r io.Reader, limit int64, o Options) (*Calendar, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read calendar: %w", err)
	}
	if int64(len(text)) > limit {
		return nil, &Error{Field: "calendar", Msg: fmt.Sprintf("is larger than %d bytes", limit)}
	}
	f, err := ics.Read(string(text))
	if err != nil {
		return nil, err
	}
	spec := CalendarSpec{Zone: f.Zone}
	if o.Zone != nil {
		spec.Zone = o.Zone.String()
	}
	for _, v := range f.Events {
		if len(spec.Closings) > maxClosings {
			break // NewCalendar refuses it
		}
		cl, ok, err := v.Closing(spec.Zone)
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", spell.Clip(v.Summary), err)
		}
		if ok {
			spec.Closings = append(spec.Closings, Closing{Name: v.Summary, Dates: cl.Dates, Rule: cl.Rule, Lasts: cl.Lasts})
		}
	}
	return newCalendar(spec, true)
}
