package ical

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron/internal/zone"
)

// Zone finds the zone of a TZID: an IANA name, one with a vendor's prefix ("/example.org/Europe/Berlin"), or a name
// that Windows and Outlook use.
func Zone(tzid string) (*time.Location, error) {
	loc, err := zone.Load(strings.TrimPrefix(tzid, "/"))
	if err == nil && tzid != "" {
		return loc, nil
	}
	if name, ok := windowsZones[tzid]; ok {
		return zone.Load(name)
	}
	for rest := strings.TrimPrefix(tzid, "/"); strings.Contains(rest, "/"); {
		_, rest, _ = strings.Cut(rest, "/")
		if loc, err := zone.Load(rest); err == nil && strings.Contains(rest, "/") {
			return loc, nil
		}
	}
	if tzid == "" {
		err = zone.Refuse(tzid, "is an empty TZID (RFC 5545 section 3.2.19)", "")
	}
	return nil, err
}
