package store

import (
	"context"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

const oneDay = 24 * time.Hour

// hourOf is the hour that an instant falls in, since 1970.
func hourOf(t time.Time) int64 { return t.Unix() / int64(time.Hour/time.Second) }

// resultRow is a result as a batch carries it.
type resultRow struct {
	Hour       int64   `json:"hour"`
	MonitorID  int64   `json:"monitor_id"`
	At         int64   `json:"at"`
	Outcome    string  `json:"outcome"`
	Code       string  `json:"code"`
	Latency    int64   `json:"latency"`
	DNS        int64   `json:"dns"`
	Connect    int64   `json:"connect"`
	TLS        int64   `json:"tls"`
	FirstByte  int64   `json:"first_byte"`
	Transfer   int64   `json:"transfer"`
	QueueDelay int64   `json:"queue_delay"`
	Status     int     `json:"status"`
	Starved    int     `json:"starved"`
	JobID      int64   `json:"job_id"`
	Detail     *string `json:"detail"`
}

// resultDetail is what is kept of a result that was not as it should be.
type resultDetail struct {
	Message    string                 `json:"message,omitempty"`
	IP         string                 `json:"ip,omitempty"`
	Conditions []task.ConditionResult `json:"conditions,omitempty"`
	Hops       []task.Hop             `json:"hops,omitempty"`
}

func resultRowOf(monitor int64, o checked) resultRow {
	us := func(d core.Duration) int64 { return d.D().Microseconds() }
	r := resultRow{
		Hour: hourOf(o.At), MonitorID: monitor, At: micros(o.At), Outcome: string(o.Outcome), Code: string(o.Code),
		Latency: us(o.Latency), DNS: us(o.Phases.DNS), Connect: us(o.Phases.Connect), TLS: us(o.Phases.TLS),
		FirstByte: us(o.Phases.FirstByte), Transfer: us(o.Phases.Transfer), QueueDelay: o.delay.Microseconds(),
		Status: o.Status, Starved: bit(o.Starved), JobID: o.jobID,
	}
	if o.Outcome != task.CheckOK || o.Message != "" {
		detail := text(resultDetail{o.Message, o.IP, o.Conditions, o.Hops})
		r.Detail = &detail
	}
	return r
}

const resultColumns = `hour, monitor_id, at, outcome, code, latency, dns, connect, tls, first_byte, transfer, queue_delay, status, starved, job_id, detail`

// writeResults writes rows. One for an instant that has a result already is
// dropped: the monitor judged that one.
func (c *change) writeResults(rows []resultRow) error {
	if len(rows) == 0 {
		return nil
	}
	from, args := c.sql.Table(1, "t", BatchOf(rows))
	_, err := c.tx.Exec(c.ctx, `
		insert into belfry.results (`+resultColumns+`)
		select `+resultColumns+`
		from `+from+`
		where true
		on conflict (hour, monitor_id, at) do nothing`, args...)
	return err
}

func scanResult(rows Rows) (r view.CheckResult, err error) {
	var hour, monitor int64
	var latency, dns, connect, tls, firstByte, transfer, delay int64
	var starved int
	var d resultDetail
	err = rows.Scan(&hour, &monitor, scanTime(&r.At), &r.Outcome, &r.Code, &latency, &dns, &connect, &tls, &firstByte, &transfer, &delay,
		&r.Status, &starved, &r.JobID, scanDoc(&d))
	span := func(us int64) core.Duration { return core.Duration(time.Duration(us) * time.Microsecond) }
	r.Latency, r.QueueDelay, r.Starved = span(latency), span(delay), starved != 0
	r.Phases = task.Phases{DNS: span(dns), Connect: span(connect), TLS: span(tls), FirstByte: span(firstByte), Transfer: span(transfer)}
	r.Message, r.IP, r.Conditions, r.Hops = d.Message, d.IP, d.Conditions, d.Hops
	return r, err
}

// Results lists checks of a monitor, newest first.
func (s *Store) Results(ctx context.Context, f view.ResultFilter) (p core.Page[view.CheckResult], err error) {
	before, err := decodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	limit := f.Bound()
	now, err := s.Now(ctx)
	if err != nil {
		return p, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		p = core.Page[view.CheckResult]{}
		row, err := s.monitor(ctx, tx, namespaceOr(f.Namespace), f.Monitor, false)
		if err != nil {
			return err
		}
		newest, oldest := now.Add(time.Hour), now.Add(-s.opt.Keep.Results-time.Hour)
		if !f.Until.IsZero() && f.Until.Before(newest) {
			newest = f.Until
		}
		if before > 0 && instant(before).Before(newest) {
			newest = instant(before)
		}
		if f.Since.After(oldest) {
			oldest = f.Since
		}
		w := &where{}
		w.and("r.monitor_id = ?", row.ID)
		w.and("r.at < ?", micros(newest))
		w.and("r.at >= ?", micros(oldest))
		if f.Outcome != "" {
			w.and("r.outcome = ?", string(f.Outcome))
		}
		var all []view.CheckResult
		for last := hourOf(newest); last >= hourOf(oldest) && len(all) <= limit; last -= hoursAtOnce {
			some, err := s.resultsOf(ctx, tx, w, last-hoursAtOnce+1, last, "desc", limit+1-len(all))
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		p = page(all, limit, func(r view.CheckResult) string { return encodeCursor(strconv.FormatInt(micros(r.At), 10)) })
		return nil
	})
	return p, err
}

// hoursAtOnce is how many hours of one monitor are read by one statement. The
// table lies in the order of hours, so each of them is a look of its own.
const hoursAtOnce = 24

// resultsOf reads results of hours, both included.
func (s *Store) resultsOf(ctx context.Context, tx Tx, w *where, from, to int64, order string, limit int) ([]view.CheckResult, error) {
	return collect(ctx, tx, scanResult, `
		select `+resultColumns+`
		from belfry.results r
		where `+w.sql()+` and `+s.sql.In("r.hour", len(w.args)+1)+`
		order by r.at `+order+`
		limit `+strconv.Itoa(limit), append(w.args[:len(w.args):len(w.args)], s.sql.List(hoursFrom(from, to)))...)
}

// hoursFrom are the hours between two, both included.
func hoursFrom(from, to int64) []int64 {
	hours := make([]int64, 0, to-from+1)
	for h := from; h <= to; h++ {
		hours = append(hours, h)
	}
	return hours
}

func namespaceOr(given string) string {
	if given == "" {
		return core.DefaultNamespace
	}
	return given
}
