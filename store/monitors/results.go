package monitors

import (
	"context"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// resultRow is a result in a batch.
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

// resultDetail is the stored detail of a result that is not as expected.
type resultDetail struct {
	Message    string                 `json:"message,omitempty"`
	IP         string                 `json:"ip,omitempty"`
	Conditions []task.ConditionResult `json:"conditions,omitempty"`
	Hops       []task.Hop             `json:"hops,omitempty"`
}

func resultRowOf(monitor int64, o checked) resultRow {
	us := func(d core.Duration) int64 { return d.D().Microseconds() }
	r := resultRow{
		Hour: base.HourOf(o.At), MonitorID: monitor, At: base.Micros(o.At), Outcome: string(o.Outcome), Code: string(o.Code),
		Latency: us(o.Latency), DNS: us(o.Phases.DNS), Connect: us(o.Phases.Connect), TLS: us(o.Phases.TLS),
		FirstByte: us(o.Phases.FirstByte), Transfer: us(o.Phases.Transfer), QueueDelay: o.delay.Microseconds(),
		Status: o.Status, Starved: base.Bit(o.Starved), JobID: o.jobID,
	}
	if o.Outcome != task.CheckOK || o.Message != "" {
		detail := base.Text(resultDetail{o.Message, o.IP, o.Conditions, o.Hops})
		r.Detail = &detail
	}
	return r
}

const resultColumns = `hour, monitor_id, at, outcome, code, latency, dns, connect, tls, first_byte, transfer, queue_delay, status, starved, job_id, detail`

// writeResults writes result rows. If an instant already has a result, the new row is dropped, because the monitor judged the
// first one.
func (c *Change) writeResults(rows []resultRow) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := c.insertResults(rows)
	return err
}

// insertResults is writeResults that returns how many rows were written.
func (c *Change) insertResults(rows []resultRow) (int64, error) {
	from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	return c.Tx.Exec(c.Ctx, `
		insert into belfry.results (`+resultColumns+`)
		select `+resultColumns+`
		from `+from+`
		where true
		on conflict (hour, monitor_id, at) do nothing`, args...)
}

func scanResult(rows base.Rows) (r view.MonitorResult, err error) {
	var hour, monitor int64
	var latency, dns, connect, tls, firstByte, transfer, delay int64
	var starved int
	var d resultDetail
	err = rows.Scan(&hour, &monitor, base.ScanTime(&r.At), &r.Outcome, &r.Code, &latency, &dns, &connect, &tls, &firstByte, &transfer, &delay,
		&r.Status, &starved, &r.JobID, base.ScanDoc(&d))
	span := func(us int64) core.Duration { return core.Duration(time.Duration(us) * time.Microsecond) }
	r.Latency, r.QueueDelay, r.Starved = span(latency), span(delay), starved != 0
	r.Phases = task.Phases{DNS: span(dns), Connect: span(connect), TLS: span(tls), FirstByte: span(firstByte), Transfer: span(transfer)}
	r.Message, r.IP, r.Conditions, r.Hops = d.Message, d.IP, d.Conditions, d.Hops
	return r, err
}

// Results lists checks of a monitor, newest first.
func (s *Store) Results(ctx context.Context, f view.ResultFilter) (p core.Page[view.MonitorResult], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	limit := f.Bound()
	now, err := s.Now(ctx)
	if err != nil {
		return p, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		p = core.Page[view.MonitorResult]{}
		row, err := s.ReadMonitor(ctx, tx, base.NamespaceOr(f.Namespace), f.Monitor, false)
		if err != nil {
			return err
		}
		newest, oldest := now.Add(time.Hour), now.Add(-s.Opt.Keep.Results-time.Hour)
		if !f.Until.IsZero() && f.Until.Before(newest) {
			newest = f.Until
		}
		if before > 0 && base.Instant(before).Before(newest) {
			newest = base.Instant(before)
		}
		if f.Since.After(oldest) {
			oldest = f.Since
		}
		w := &base.Where{}
		w.And("r.monitor_id = ?", row.ID)
		w.And("r.at < ?", base.Micros(newest))
		w.And("r.at >= ?", base.Micros(oldest))
		if f.Outcome != "" {
			w.And("r.outcome = ?", string(f.Outcome))
		}
		var all []view.MonitorResult
		for last := base.HourOf(newest); last >= base.HourOf(oldest) && len(all) <= limit; last -= HoursAtOnce {
			some, err := s.resultsOf(ctx, tx, w, last-HoursAtOnce+1, last, "desc", limit+1-len(all))
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		p = base.Page(all, limit, func(r view.MonitorResult) string { return base.EncodeCursor(strconv.FormatInt(base.Micros(r.At), 10)) })
		return nil
	})
	return p, err
}

// HoursAtOnce is the number of hours of one monitor that one statement reads. The table is ordered by hour, so each hour is a
// separate lookup.
const HoursAtOnce = 24

// resultsOf reads the results of a range of hours, both ends included.
func (s *Store) resultsOf(ctx context.Context, tx base.Tx, w *base.Where, from, to int64, order string, limit int) ([]view.MonitorResult, error) {
	return base.Collect(ctx, tx, scanResult, `
		select `+resultColumns+`
		from belfry.results r
		where `+w.Sql()+` and `+s.SQL.In("r.hour", len(w.Args)+1)+`
		order by r.at `+order+`
		limit `+strconv.Itoa(limit), append(w.Args[:len(w.Args):len(w.Args)], s.SQL.List(HoursFrom(from, to)))...)
}

// HoursFrom returns the hours of a range, both ends included.
func HoursFrom(from, to int64) []int64 {
	hours := make([]int64, 0, to-from+1)
	for h := from; h <= to; h++ {
		hours = append(hours, h)
	}
	return hours
}
