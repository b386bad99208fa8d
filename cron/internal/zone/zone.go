// Package zone knows the time zones by name, and what their data says. Data comes from the program, and may be replaced while
// it runs by the newer release of another node ([Adopt]). A loaded zone is cached for the life of the process, or until newer
// data is adopted.
package zone

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // so that a binary on an empty machine knows the zones

	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Load finds a time zone by its IANA name, as cron.LoadZone describes it.
func Load(name string) (*time.Location, error) {
	switch strings.ToLower(name) {
	case "", "utc", "z":
		return time.UTC, nil
	case "local", "localtime":
		return nil, Refuse(name, "would be the zone of whatever machine reads it", `name the zone, for example "Europe/Sofia", or use "UTC"`)
	}
	if len(name) > 64 || strings.ContainsAny(name, " \t\n\\\x00") {
		return nil, Refuse(name, "is not a time zone", hint(spell.Clip(name)))
	}
	if loc, ok := loaded.Load(name); ok {
		return loc.(*time.Location), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, Refuse(name, "is not a time zone", hint(name))
	}
	shared, known := loaded.LoadOrStore(name, loc)
	if !known {
		loads.Add(1)
	}
	return shared.(*time.Location), nil
}

// loaded caches zones by name, for all of the process. Its values are immutable, and it is as large as the database at most.
// Without it a million schedules would hold a million copies of a few zones, at some ten kilobytes each.
var loaded sync.Map

// Refuse is the error about a zone.
func Refuse(name, msg, hint string) *refusal.Error {
	return &refusal.Error{Field: "zone", Value: name, Msg: msg, Hint: hint}
}

// abbreviations are common short names of zones; the letters alone say neither the place nor its daylight saving.
var abbreviations = map[string]string{
	"EDT": "America/New_York", "CST": "America/Chicago", "CDT": "America/Chicago", "MDT": "America/Denver",
	"PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "BST": "Europe/London", "CEST": "Europe/Berlin",
	"EEST": "Europe/Sofia", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "SGT": "Asia/Singapore",
	"AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "AWST": "Australia/Perth", "NZST": "Pacific/Auckland",
	"NZDT": "Pacific/Auckland", "MSK": "Europe/Moscow", "SAST": "Africa/Johannesburg", "BRT": "America/Sao_Paulo",
}

// hint guesses the intended zone: another case, an abbreviation, an offset, a city alone, a typing error.
func hint(name string) string {
	if zone := abbreviations[strings.ToUpper(name)]; zone != "" {
		return spell.DidYouMean(zone, "")
	}
	if rest, ok := strings.CutPrefix(strings.ToUpper(name), "UTC"); ok {
		name = "GMT" + rest
	}
	if rest, ok := strings.CutPrefix(strings.ToUpper(name), "GMT"); ok && len(rest) > 1 && len(rest) <= 3 {
		// POSIX signs: Etc/GMT-2 is two hours ahead of UTC.
		return spell.DidYouMean("Etc/GMT"+strings.NewReplacer("+", "-", "-", "+").Replace(rest[:1])+strings.TrimLeft(rest[1:], "0"), "")
	}
	names := Names()
	place := strings.ReplaceAll(name, " ", "_")
	for _, n := range names {
		if strings.EqualFold(n, place) || strings.EqualFold(n[strings.LastIndexByte(n, '/')+1:], place) {
			return spell.DidYouMean(n, "")
		}
	}
	return spell.DidYouMean(spell.Nearest(name, names), `use an IANA name, for example "Europe/Sofia"`)
}

// systemDirs is where the time package looks before it uses the embedded database.
var systemDirs = []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}

// Version returns which data [Load] uses, as cron.ZoneVersion describes it.
func Version() string {
	if own := os.Getenv("ZONEINFO"); own != "" {
		return "from " + own
	}
	if dir := systemDir(); dir != "" {
		return strings.TrimPrefix(release(dir)+", from "+dir, ", ")
	}
	version := runtime.Version()
	if strings.HasPrefix(version, "go1.26") {
		return embeddedRelease + ", embedded by " + version
	}
	return "embedded by " + version
}

func systemDir() string {
	for _, dir := range systemDirs {
		if _, err := os.Stat(dir + "/UTC"); err == nil {
			return dir
		}
	}
	return ""
}

// embeddedRelease is the release that Go 1.26 embeds (its lib/time/update.bash).
const embeddedRelease = "2025c"

// release reads the version a zoneinfo folder was made from, or "".
func release(dir string) string {
	for _, name := range []string{"tzdata.zi", "version", "+VERSION"} {
		head := make([]byte, 64)
		f, err := os.Open(dir + "/" + name)
		if err != nil {
			continue
		}
		n, _ := f.Read(head)
		f.Close()
		line, _, _ := strings.Cut(string(head[:n]), "\n")
		return strings.TrimSpace(strings.TrimPrefix(line, "# version "))
	}
	return ""
}
