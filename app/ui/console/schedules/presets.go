package schedules

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// preset is a way to say when without knowing cron. It reads into cron, and
// cron that it would have written is shown in its words.
type preset struct {
	Value, Name, Like string
	read              func(text string) (cron string, ok bool)
	write             func(cron string) (text string, ok bool)
}

var (
	clockText  = regexp.MustCompile(`^(?:at\s+)?([0-9]{1,2})(?:[:.]([0-9]{2}))?\s*([aApP][mM])?$`)
	minuteText = regexp.MustCompile(`^(?:at\s+)?:?([0-9]{1,2})$`)
	onText     = regexp.MustCompile(`^([A-Za-z]+(?:\s*,\s*[A-Za-z]+)*|[0-9]{1,2})\s+(?:at\s+)?([0-9].*)$`)
	hourlyCron = regexp.MustCompile(`^([0-9]{1,2}) \* \* \* \*$`)
	timeCron   = regexp.MustCompile(`^([0-9]{1,2}) ([0-9]{1,2}) (\*|[0-9]{1,2}|L) \* (\*|[A-Z]{3}(?:-[A-Z]{3}|(?:,[A-Z]{3})*))$`)
	weekdays   = []string{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}
)

var presets = []preset{
	{"hourly", "Hourly, at minute", ":15", readHourly, func(cron string) (string, bool) {
		if m := hourlyCron.FindStringSubmatch(cron); m != nil {
			n, _ := strconv.Atoi(m[1])
			return fmt.Sprintf(":%02d", n), n < 60
		}
		return "", false
	}},
	{"daily", "Daily at", "09:30", func(text string) (string, bool) { return readClock(text, "* * *") }, func(cron string) (string, bool) {
		return writeClock(cron, func(day, week string) (string, bool) { return "", day == "*" && week == "*" })
	}},
	{"weekdays", "Monday to Friday at", "09:30", func(text string) (string, bool) { return readClock(text, "* * MON-FRI") }, func(cron string) (string, bool) {
		return writeClock(cron, func(day, week string) (string, bool) { return "", day == "*" && week == "MON-FRI" })
	}},
	{"weekly", "Weekly on", "Mon 09:30", readWeekly, func(cron string) (string, bool) {
		return writeClock(cron, func(day, week string) (string, bool) {
			if day != "*" || strings.ContainsAny(week, "*-") {
				return "", false
			}
			var names []string
			for name := range strings.SplitSeq(week, ",") {
				if full, ok := weekday(name); !ok || full != name {
					return "", false
				}
				names = append(names, name[:1]+strings.ToLower(name[1:]))
			}
			return strings.Join(names, ", ") + " ", true
		})
	}},
	{"monthly", "Monthly on day", "1 09:30", readMonthly, func(cron string) (string, bool) {
		return writeClock(cron, func(day, week string) (string, bool) {
			if n, err := strconv.Atoi(day); week != "*" || day != "L" && (err != nil || n < 1 || n > 31) {
				return "", false
			}
			return strings.Replace(day, "L", "last", 1) + " ", true
		})
	}},
}

func presetOf(value string) *preset {
	for i := range presets {
		if presets[i].Value == value {
			return &presets[i]
		}
	}
	return nil
}

// clock reads a time of day.
func clock(text string) (hour, minute int, ok bool) {
	m := clockText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, 0, false
	}
	hour, _ = strconv.Atoi(m[1])
	minute, _ = strconv.Atoi(m[2])
	if half := strings.ToLower(m[3]); half != "" {
		if hour < 1 || hour > 12 {
			return 0, 0, false
		}
		hour %= 12
		if half == "pm" {
			hour += 12
		}
	}
	return hour, minute, hour < 24 && minute < 60
}

func readClock(text, days string) (string, bool) {
	hour, minute, ok := clock(text)
	return fmt.Sprintf("%d %d %s", minute, hour, days), ok
}

func writeClock(cron string, on func(day, week string) (before string, ok bool)) (string, bool) {
	m := timeCron.FindStringSubmatch(cron)
	if m == nil {
		return "", false
	}
	minute, _ := strconv.Atoi(m[1])
	hour, _ := strconv.Atoi(m[2])
	before, ok := on(m[3], m[4])
	return fmt.Sprintf("%s%02d:%02d", before, hour, minute), ok && hour < 24 && minute < 60
}

func readHourly(text string) (string, bool) {
	m := minuteText.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	n, _ := strconv.Atoi(m[1])
	return fmt.Sprintf("%d * * * *", n), n < 60
}

// weekday is a day of the week as cron has it, by its name or its first letters.
func weekday(name string) (string, bool) {
	name = strings.ToUpper(strings.TrimSpace(name))
	for i, full := range []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"} {
		if len(name) >= 3 && strings.HasPrefix(full, strings.TrimSuffix(name, "S")) {
			return weekdays[i], true
		}
	}
	return "", false
}

func readWeekly(text string) (string, bool) {
	m := onText.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	var days []string
	for name := range strings.SplitSeq(m[1], ",") {
		day, ok := weekday(name)
		if !ok {
			return "", false
		}
		days = append(days, day)
	}
	return readClock(m[2], "* * "+strings.Join(days, ","))
}

func readMonthly(text string) (string, bool) {
	m := onText.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	if strings.EqualFold(m[1], "last") {
		return readClock(m[2], "L * *")
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || n > 31 {
		return "", false
	}
	return readClock(m[2], strings.TrimPrefix(m[1], "0")+" * *")
}
