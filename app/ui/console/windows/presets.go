package windows

import "time"

// timeLayout is how the fields of the form write a time.
const timeLayout = "2006-01-02T15:04"

// presetOf is a window that the form begins with, in the zone of now: the next hour, or tonight, which is from 22:00 to 06:00.
// During the night it begins at once.
func presetOf(preset string, now time.Time) (name string, from, to time.Time) {
	now = now.Truncate(time.Minute)
	switch preset {
	case "hour":
		return "hour-" + now.Format("2006-01-02-1504"), now, now.Add(time.Hour)
	case "tonight":
		at := func(days, hour int) time.Time {
			return time.Date(now.Year(), now.Month(), now.Day()+days, hour, 0, 0, 0, now.Location())
		}
		if now.Before(at(0, 6)) {
			return "tonight-" + now.AddDate(0, 0, -1).Format(time.DateOnly), now, at(0, 6)
		}
		from = at(0, 22)
		if from.Before(now) {
			from = now
		}
		return "tonight-" + now.Format(time.DateOnly), from, at(1, 6)
	}
	return "", from, to
}
