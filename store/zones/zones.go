package zones

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// replanBatch bounds the schedules that one transaction plans again.
const replanBatch = 500

// zones holds the knowledge of this process about the zones in the database.
type zones struct {
	mu      sync.Mutex
	begun   bool // the first comparison of this process is done
	noted   map[string]bool
	pending []string          // loaded but not noted: previews load zones that no definition names
	loads   int64             // value of [cron.ZoneLoads] when pending was listed
	adopted map[string]string // release of each zone that came from the database
	own     map[string]string // digests, valid for changes
	changes int64
	moving  []string
}

func newZones() *zones {
	return &zones{noted: map[string]bool{}, adopted: map[string]string{}, own: map[string]string{}}
}

// version returns the version of a zone that this process uses.
func (z *zones) version(name, release string) schedule.ZoneVersion {
	z.mu.Lock()
	defer z.mu.Unlock()
	if now := cron.ZoneChanges(); now != z.changes {
		z.own, z.changes = map[string]string{}, now
	}
	digest, ok := z.own[name]
	if !ok {
		data, err := cron.DataOf(name)
		if err != nil {
			return schedule.ZoneVersion{Release: release}
		}
		digest = data.Digest
		z.own[name] = digest
	}
	if from, ok := z.adopted[name]; ok {
		release = from
	}
	return schedule.ZoneVersion{Digest: digest, Release: release}
}

// adopts reports that a zone came from the database.
func (z *zones) adopts(name string) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	_, ok := z.adopted[name]
	return ok
}

func (z *zones) starting() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return !z.begun
}

// fresh lists the loaded zones that a document names and that, as far as this process knows, are not in the database.
func (z *zones) fresh(doc string) (names []string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if loads := cron.ZoneLoads(); loads != z.loads {
		z.pending, z.loads = cron.LoadedZones(), loads
	}
	for _, name := range z.pending {
		if !z.noted[name] && strings.Contains(doc, name) {
			names = append(names, name)
		}
	}
	return names
}

func (z *zones) note(names ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, name := range names {
		z.noted[name] = true
	}
	z.pending = slices.DeleteFunc(z.pending, func(name string) bool { return z.noted[name] })
}

// zoneRow is a zone in a batch.
type zoneRow struct {
	Name       string `json:"name"`
	Digest     string `json:"digest"`
	Release    string `json:"release"`
	Data       string `json:"data"`
	ReplanFrom int64  `json:"replan_from"`
}

func (r zoneRow) version() schedule.ZoneVersion {
	return schedule.ZoneVersion{Digest: r.Digest, Release: r.Release}
}

func (s *Store) zoneRelease() string {
	if s.Opt.ZoneRelease != "" {
		return s.Opt.ZoneRelease
	}
	return cron.ZoneRelease()
}

// ownZone returns the row for this process's own data of a zone.
func (s *Store) ownZone(name string) (zoneRow, error) {
	data, err := cron.DataOf(name)
	if err != nil {
		return zoneRow{}, err
	}
	v := s.zones.version(name, s.zoneRelease())
	return zoneRow{Name: name, Digest: data.Digest, Release: v.Release, Data: base64.StdEncoding.EncodeToString(data.TZif), ReplanFrom: -1}, nil
}

// noteZones stores the data of zones that a definition names for the first time, in the transaction that saves the definition.
// A node that starts later compares its own data with it.
func (c *Change) noteZones(doc string) error {
	names := c.s.zones.fresh(doc)
	if len(names) == 0 {
		return nil
	}
	rows := make([]zoneRow, len(names))
	for i, name := range names {
		var err error
		if rows[i], err = c.s.ownZone(name); err != nil {
			return fmt.Errorf("zone %s: %w", name, err)
		}
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.zones (name, digest, release, data, replan_from)
		select name, digest, release, data, replan_from
		from `+from+`
		where true
		on conflict (name) do nothing`, args...)
	c.After(func() { c.s.zones.note(names...) })
	return err
}

// FollowZones compares the time zones of this process with those of the database. Newer own data is installed in the database,
// and the schedules of changed zones are planned again. Newer data of the database replaces the data of this process. Nodes
// call it every ten seconds. Opening a store only adopts newer data, because commands open stores too.
func (s *Store) FollowZones(ctx context.Context) error {
	moving, err := s.CompareZones(ctx, true)
	if err != nil {
		return err
	}
	for _, name := range moving {
		for done := false; !done; {
			if done, err = s.replanZone(ctx, name); err != nil {
				return fmt.Errorf("plan the schedules of zone %s anew: %w", name, err)
			}
		}
	}
	s.zones.mu.Lock()
	s.zones.moving = nil
	s.zones.mu.Unlock()
	return nil
}

// CompareZones decides which data is valid, and returns the zones whose schedules still have to be planned with it. Without
// follow it changes nothing in the database.
func (s *Store) CompareZones(ctx context.Context, follow bool) (moving []string, err error) {
	var rows []zoneRow
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		rows, err = base.Collect(ctx, tx, func(r base.Rows) (z zoneRow, err error) {
			return z, r.Scan(&z.Name, &z.Digest, &z.Release, &z.ReplanFrom)
		}, `select name, digest, release, replan_from from belfry.zones order by name`)
		return err
	})
	if err != nil {
		return nil, err
	}
	starting := s.zones.starting()
	for _, row := range rows {
		own := s.zones.version(row.Name, s.zoneRelease())
		step := schedule.FollowZone(row.version(), own, starting)
		switch step {
		case schedule.ZoneAdopted:
			err = s.adoptZone(ctx, row, own)
		case schedule.ZoneInstalled:
			if follow {
				err = s.installZone(ctx, row)
			}
		case schedule.ZoneKept:
		}
		// A node may have made plans with data that it then replaced, in this life or before a crash. These plans are made
		// again.
		if adopted := step == schedule.ZoneAdopted || starting && s.zones.adopts(row.Name); err == nil && follow && adopted {
			err = s.planAgain(ctx, row.Name)
			row.ReplanFrom = 0
		}
		if err != nil {
			return nil, fmt.Errorf("follow zone %s: %w", row.Name, err)
		}
		if step == schedule.ZoneInstalled || row.ReplanFrom >= 0 {
			moving = append(moving, row.Name)
		}
		s.zones.note(row.Name)
	}
	if follow {
		s.zones.mu.Lock()
		s.zones.begun, s.zones.moving = true, moving
		s.zones.mu.Unlock()
	}
	return moving, nil
}

// adoptZone uses the data of the database in this process.
func (s *Store) adoptZone(ctx context.Context, row zoneRow, own schedule.ZoneVersion) error {
	var data string
	var found bool
	err := s.DB().Read(ctx, func(tx base.Tx) (err error) {
		data, found, err = base.First(ctx, tx, base.ScanString, `select data from belfry.zones where name = $1 and digest = $2`, row.Name, row.Digest)
		return err
	})
	if err != nil || !found { // replaced meanwhile: the next comparison sees the new data
		return err
	}
	tzif, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return err
	}
	if err := cron.AdoptZone(row.Name, tzif); err != nil {
		return err
	}
	s.zones.mu.Lock()
	s.zones.adopted[row.Name] = row.Release
	s.zones.mu.Unlock()
	s.Opt.Logger.Warn("this machine's data of a time zone is older than another node's, which is used instead; update it and restart",
		"zone", row.Name, "own", own.Release, "used", row.Release)
	return nil
}

// planAgain marks the schedules of a zone to be planned again.
func (s *Store) planAgain(ctx context.Context, zone string) error {
	return s.write(ctx, "plan anew", func(c *Change) error {
		_, err := c.Tx.Exec(ctx, `update belfry.zones set replan_from = 0 where name = $1`, zone)
		return err
	})
}

// installZone replaces the data of the database with that of this process.
func (s *Store) installZone(ctx context.Context, row zoneRow) error {
	own, err := s.ownZone(row.Name)
	if err != nil {
		return err
	}
	var n int64
	err = s.write(ctx, "install zone", func(c *Change) error {
		n, err = c.Tx.Exec(ctx, `
			update belfry.zones set digest = $3, release = $4, data = $5, replan_from = 0
			where name = $1 and digest = $2`, row.Name, row.Digest, own.Digest, own.Release, own.Data)
		return err
	})
	if err == nil && n > 0 {
		s.Opt.Logger.Info("rules of a time zone changed; its schedules are planned again",
			"zone", row.Name, "before", row.Release, "now", own.Release)
	}
	return err
}

// replanZone plans the next schedules of a zone again. Its progress is stored, so that no schedule is left out if a node dies
// meanwhile.
func (s *Store) replanZone(ctx context.Context, name string) (done bool, err error) {
	err = s.write(ctx, "replan", func(c *Change) error {
		from, found, err := base.First(ctx, c.Tx, base.ScanInt, `
			select replan_from
			from belfry.zones
			where name = $1 and replan_from >= 0`+c.SQL.SkipLocked("zones"), name)
		if done = !found; err != nil || done {
			return err // done, or another node is replanning
		}
		rows, err := base.Collect(ctx, c.Tx, schedules.ScanSchedule, `
			select `+schedules.ScheduleColumns+`
			from belfry.schedules s
			where s.id > $1 and s.state = 'active' and s.doc like $2
			order by s.id
			limit $3 + 0`+c.SQL.ForUpdate("s"), from, `%`+name+`%`, replanBatch)
		if err != nil {
			return err
		}
		if err := c.replan(rows); err != nil {
			return err
		}
		next := int64(-1)
		if len(rows) == replanBatch {
			next = rows[len(rows)-1].ID
		} else if err := errors.Join(c.replanMonitors(name), c.rerouteQuiet(name)); err != nil {
			return err
		}
		done = next < 0
		_, err = c.Tx.Exec(ctx, `update belfry.zones set replan_from = $2 where name = $1`, name, next)
		return err
	})
	return done, err
}

// replan writes the next times of schedules with the present zones, and logs which have moved.
func (c *Change) replan(rows []schedules.ScheduleRow) error {
	facts, err := c.schedules().Facts(rows)
	if err != nil {
		return err
	}
	var all []schedules.Decided
	var told []string
	for _, row := range rows {
		plan, err := c.s.schedules.PlanOf(c.Ctx, c.Tx, row.Schedule)
		if err != nil {
			continue // the pass that fires postpones it and logs the error
		}
		f := schedule.Replan(row.Schedule, plan, facts[row.ID], c.Now)
		if f.NextAt.Equal(row.NextAt) && f.State == row.State {
			continue
		}
		all = append(all, schedules.Decided{Row: row, Out: f})
		if _, owned := task.OwnerOf(row.Name); owned {
			continue
		}
		after := row.Schedule
		schedules.Begun(&after, f)
		told = append(told, row.Namespace+"/"+row.Name)
		if err := c.Audit("replan", "schedule", row.Namespace, row.Name, "the clocks of its time zone change at other times than before", row.Schedule, after); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		c.After(func() {
			first := told[:min(len(told), 5)]
			c.s.Opt.Logger.Warn("next times changed with the time zone; see: belfry audit --noun schedule", "moved", len(all), "first", strings.Join(first, " "))
		})
	}
	return c.schedules().SaveStates(all)
}

// replanMonitors computes the next expected heartbeats of a zone again. It makes every other monitor look again at its next
// event, because maintenance windows have zones too.
func (c *Change) replanMonitors(zone string) error {
	rows, err := base.Collect(c.Ctx, c.Tx, c.s.monitors.ScanMonitor, `
		select `+monitors.MonitorColumns+`
		from belfry.monitors m
		where m.kind = 'heartbeat' and m.doc like $1
		order by m.id`+c.SQL.ForUpdate("m"), `%`+zone+`%`)
	if err != nil {
		return err
	}
	for i := range rows {
		env, err := c.monitors().Surroundings(rows[i])
		if err != nil {
			continue // the pass that looks at it postpones it and logs the error
		}
		if err := c.monitors().TakeJudgement(&rows[i], monitor.Reexpect(rows[i].Monitor, rows[i].State, env, c.Now), nil); err != nil {
			return err
		}
	}
	if err := c.monitors().SaveMonitors(rows); err != nil {
		return err
	}
	return monitors.WakeMonitors(c.Change, "")
}

// rerouteQuiet makes alerts that wait for quiet hours in a zone due for a new decision.
func (c *Change) rerouteQuiet(zone string) error {
	cals, err := base.Collect(c.Ctx, c.Tx, schedules.ScanCalendar, `
		select `+schedules.CalendarColumns+`
		from belfry.calendars
		where doc like $1
		order by id`, `%`+zone+`%`)
	if err != nil {
		return err
	}
	for _, cal := range cals {
		if err := c.alerts().RerouteQuiet(cal); err != nil {
			return err
		}
	}
	return nil
}

// ZonesHealth returns the health report of time zones.
func (s *Store) ZonesHealth() view.ZonesHealth {
	s.zones.mu.Lock()
	defer s.zones.mu.Unlock()
	h := view.ZonesHealth{Data: cron.ZoneVersion(), Moving: slices.Clone(s.zones.moving)}
	for name := range s.zones.adopted {
		h.Adopted = append(h.Adopted, name)
	}
	slices.Sort(h.Adopted)
	h.Adopted = h.Adopted[:min(len(h.Adopted), 20)]
	return h
}

func (s *Store) setUp() {
	s.zones = newZones()
	s.OnAudit(func(c *base.Change, doc string) error { return s.In(c).noteZones(doc) })
}
