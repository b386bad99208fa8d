package frame

import (
	"net/http"
	"strings"
	"time"

	"github.com/belfry-run/belfry/cron"
)

// How times are shown: in the zone of the schedule that they belong to and else
// in UTC, all in UTC, or all in the zone of the reader.
const (
	timesSchedule = "schedule"
	timesUTC      = "utc"
	timesMine     = "mine"
)

// timesCookie holds how a browser shows times, and its zone, so that the server
// writes them: "utc", or "mine:Europe/Sofia".
const timesCookie = "belfry_times"

const longestZone = 64 // bytes

// Times is how a browser shows times.
type Times struct {
	Mode string
	Zone *time.Location // of those that belong to no schedule
}

// timesOf returns the zone and the format that the cookie of a request asks for.
func timesOf(r *http.Request) Times {
	t := Times{timesSchedule, time.UTC}
	cookie, err := r.Cookie(timesCookie)
	if err != nil {
		return t
	}
	mode, zone, _ := strings.Cut(cookie.Value, ":")
	switch mode {
	case timesUTC:
		t.Mode = timesUTC
	case timesMine:
		if at := zoneOf(zone); at != nil {
			t = Times{timesMine, at}
		}
	}
	return t
}

// zoneOf is the zone of a name that a browser gave, or nil.
func zoneOf(name string) *time.Location {
	if name == "" || name == "Local" || len(name) > longestZone {
		return nil
	}
	at, err := cron.LoadZone(name)
	if err != nil {
		return nil
	}
	return at
}

// Of is where times of a schedule's zone are shown.
func (t Times) Of(zone string) *time.Location {
	if t.Mode == timesSchedule {
		if at := zoneOf(zone); at != nil {
			return at
		}
	}
	return t.Zone
}

// Name is how times are shown, in a word or two.
func (t Times) Name() string {
	switch t.Mode {
	case timesUTC:
		return "UTC"
	case timesMine:
		return t.Zone.String()
	}
	return "Schedule zone"
}

// SetTimes stores in a cookie how a browser shows times.
func (s *Site) SetTimes(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	zone := r.PostFormValue("zone")
	switch mode := r.PostFormValue("times"); {
	case mode == timesUTC:
		s.SetCookie(w, r, timesCookie, mode, year)
	case mode == timesMine && zoneOf(zone) != nil:
		s.SetCookie(w, r, timesCookie, mode+":"+zone, year)
	case mode == timesSchedule:
		s.SetCookie(w, r, timesCookie, "", -1)
	}
	http.Redirect(w, r, s.Prefix+LocalPath(r.PostFormValue("next")), http.StatusSeeOther)
}
