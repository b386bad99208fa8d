package schedules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

type forecastAPI interface {
	Forecast(ctx context.Context, a schedule.Ahead) (schedule.Forecast, error)
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
}

var forecastRoutes = routes{"GET /forecast": forecastPage}

const forecastWithin = 7 * 24 * time.Hour

type forecastData struct {
	Zone    string
	ZoneErr error
	Checks  bool // of monitors are counted
	Total   int
	Hours   heat
	Quiet   []quietHours
	Top     []loadRow
	Busiest int // minutes that Top is of
	Partial bool
	Until   parts.Moment // how far it reaches when it is partial
}

// loadRow is those of the busiest minutes in which the same starts.
type loadRow struct {
	When      parts.Moment // the first
	Minutes   int
	Starts    int // in each
	Schedules []named
	More      bool // there are more than are named
}

// named is an object with the link to its page.
type named struct{ Title, Name, Link string }

func forecastPage(p *page) error {
	d := forecastData{Zone: strings.TrimSpace(p.Query("zone")), Checks: p.Query("checks") == "true"}
	if d.Zone == "" {
		d.Zone = p.Times.Zone.String()
	}
	zone, err := cron.LoadZone(d.Zone)
	if err != nil {
		d.ZoneErr = core.InvalidField("zone", d.Zone, "is not a time zone", "an IANA name such as Europe/Sofia")
		zone = time.UTC
	}
	f, err := p.api.Forecast(p.R.Context(), schedule.Ahead{Namespace: p.Namespace, From: p.Now, Within: forecastWithin, Zone: zone.String(), ByHour: true, Checks: d.Checks})
	if err != nil {
		return err
	}
	for _, h := range f.Hours {
		d.Total += h.Starts
	}
	if d.Partial = f.Partial; f.Partial {
		d.Until = parts.NewMoment(f.Until, p.Now, zone, false)
	}
	d.Hours = hourHeat(f, p.Now, zone)
	d.Quiet = quietest(f, zone)
	asked := view.Named{Namespace: p.Namespace}
	for _, l := range f.Busiest {
		for _, name := range l.Schedules {
			asked.Schedule(name)
		}
	}
	titles, err := frame.Titles(p.R.Context(), p.api, asked)
	if err != nil {
		return err
	}
	for _, of := range alike(f.Busiest) {
		l := of[0]
		row := loadRow{When: parts.NewMoment(l.Minute, p.Now, zone, false), Minutes: len(of), Starts: l.Starts, More: len(l.Schedules) == 10}
		for _, name := range l.Schedules {
			row.Schedules = append(row.Schedules, p.scheduleNamed(name, titles))
		}
		d.Top, d.Busiest = append(d.Top, row), d.Busiest+len(of)
	}
	return p.Show("forecast", d)
}

// alike are the busiest minutes in which several runs start, those together in which the same schedules start as much: a
// schedule of each night fills the list otherwise.
func alike(busiest []schedule.Load) (all [][]schedule.Load) {
	at := map[string]int{}
	for _, l := range busiest {
		if l.Starts < 2 {
			continue
		}
		key := fmt.Sprint(l.Starts, l.Schedules)
		i, known := at[key]
		if !known {
			i, at[key] = len(all), len(all)
			all = append(all, nil)
		}
		all[i] = append(all[i], l)
	}
	return all
}

// quietHours is a part of the day in which little starts, on any day of the forecast.
type quietHours struct {
	From, To string // times of day
	Starts   int    // within the week, all days together
}

const (
	quietSpan = 2 // hours together
	quietMost = 3 // of them are suggested
)

// quietest are the parts of the day with the fewest starts, the quietest first, without overlaps. There are none if all hours
// are alike, or if not all starts were counted.
func quietest(f schedule.Forecast, zone *time.Location) (found []quietHours) {
	if f.Partial {
		return nil
	}
	var starts [24]int
	total := 0
	for _, h := range f.Hours {
		starts[h.Hour.In(zone).Hour()] += h.Starts
		total += h.Starts
	}
	type part struct{ from, starts int }
	var all []part
	for from := 0; from < 24; from++ {
		all = append(all, part{from, starts[from] + starts[(from+1)%24]})
	}
	slices.SortStableFunc(all, func(a, b part) int { return a.starts - b.starts })
	var taken [24]bool
	for _, q := range all {
		if len(found) == quietMost || q.starts*24*2 > total*quietSpan { // more than half of the mean: not quiet
			break
		}
		next := (q.from + 1) % 24
		if taken[q.from] || taken[next] {
			continue
		}
		taken[q.from], taken[next] = true, true
		found = append(found, quietHours{fmt.Sprintf("%02d:00", q.from), fmt.Sprintf("%02d:00", (q.from+quietSpan)%24), q.starts})
	}
	return found
}

// scheduleNamed links a schedule to its page. A schedule of a monitor links to the monitor.
func (p *page) scheduleNamed(name string, titles view.Titles) named {
	title, kind, called := titles.Schedule(name), "schedules", name
	if monitor, owned := parts.Owner(name); owned {
		kind, name, called = "monitors", monitor, "monitor "+monitor
	}
	if p.Namespace == core.AnyNamespace { // the row does not have the namespace, so no link
		return named{Name: called}
	}
	return named{title, called, p.Link(kind, name)}
}

const (
	hourWidth  = 26
	hourHeight = 20
	hourLeft   = 76
)

// usualOf is the load that most hours share, such as checks of monitors. The colour of an hour shows its load above that, or
// all hours would look alike.
func usualOf(counts map[time.Time][24]int64) int64 {
	var all []int64
	for _, hours := range counts {
		for _, n := range hours {
			if n > 0 {
				all = append(all, n)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2] * 3 / 4
}

// hourHeat is how many runs start in each hour, a row for each day.
func hourHeat(f schedule.Forecast, now time.Time, zone *time.Location) heat {
	h := heat{Title: "Starts by day and hour", Head: []string{"Day"}, Width: hourLeft + 24*hourWidth}
	for hour := range 24 {
		h.Head = append(h.Head, fmt.Sprintf("%02d", hour))
		h.Marks = append(h.Marks, heatMark{hourLeft + hour*hourWidth + 5, 12, fmt.Sprintf("%02d", hour)})
	}
	local := now.In(zone)
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC) // calendar days, in UTC so that each has 24 hours
	counts, most, total := map[time.Time][24]int64{}, int64(0), int64(0)
	for _, l := range f.Hours {
		at := l.Hour.In(zone)
		key := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
		of := counts[key]
		of[at.Hour()] += int64(l.Starts)
		counts[key] = of
		total, most = total+int64(l.Starts), max(most, of[at.Hour()])
	}
	if total == 0 && !f.Partial {
		return h
	}
	usual := usualOf(counts)
	for n := range 8 {
		at := day.AddDate(0, 0, n)
		y := heatTop + n*hourHeight
		h.Marks = append(h.Marks, heatMark{0, y + 14, at.Format("Mon 2 Jan")})
		row := []string{at.Format("Mon 2 Jan")}
		for hour, starts := range counts[at] {
			row = append(row, parts.NumberText(starts))
			begins := time.Date(at.Year(), at.Month(), at.Day(), hour, 0, 0, 0, zone)
			if f.Partial && f.Until.Before(begins.Add(time.Hour)) && begins.Before(now.Add(forecastWithin)) {
				row[len(row)-1] = "at least " + parts.NumberText(starts)
				h.Cells = append(h.Cells, heatCell{X: hourLeft + hour*hourWidth, Y: y, W: hourWidth - 2, H: hourHeight - 2, Tone: "cut", Title: fmt.Sprintf("%s, %02d:00 to %02d:00: at least %s, not all are counted", at.Format("Mon 2 Jan"), hour, hour+1, parts.Plural(int(starts), "start", "starts"))})
				continue
			}
			h.Cells = append(h.Cells, heatCell{X: hourLeft + hour*hourWidth, Y: y, W: hourWidth - 2, H: hourHeight - 2, Tone: "busy", Level: levelOf(starts-usual, most-usual, starts),
				Title: fmt.Sprintf("%s, %02d:00 to %02d:00: %s", at.Format("Mon 2 Jan"), hour, hour+1, parts.Plural(int(starts), "start", "starts"))})
		}
		h.Rows = append(h.Rows, row)
	}
	h.Height = heatTop + 8*hourHeight
	h.Said = fmt.Sprintf("%s within a week, at most %s in one hour", parts.Plural(int(total), "start", "starts"), parts.NumberText(most))
	h.Note = h.Said + ". Hours are those of " + zone.String() + "."
	return h
}
