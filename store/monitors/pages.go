package monitors

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/textdiff"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// writeVersion stores a new text of a page, and deletes the oldest texts beyond the limit. Their rows stay.
func (c *Change) writeVersion(row MonitorRow, v monitor.PageVersion, seen *task.PageSeen) error {
	last, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select coalesce(max(seq), 0) from belfry.page_versions where monitor_id = $1`, row.ID)
	if err != nil {
		return err
	}
	v.Seq, v.Digest, v.RawDigest, v.ConfigHash, v.Size, v.Text = last+1, seen.Digest, seen.RawDigest, seen.ConfigHash, len(seen.Text), ""
	if v.At.IsZero() {
		v.At = c.Now
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.page_versions (monitor_id, seq, digest, at, doc)
		values ($1, $2, $3, $4, $5)`, row.ID, v.Seq, v.Digest, base.Micros(v.At), base.Text(v)); err != nil {
		return err
	}
	packed, err := pack(seen.Text)
	if err != nil {
		return err
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.page_texts (monitor_id, digest, text)
		values ($1, $2, $3)
		on conflict (monitor_id, digest) do nothing`, row.ID, v.Digest, packed); err != nil {
		return err
	}
	// The newest texts stay, and so does the baseline.
	_, err = c.Tx.Exec(c.Ctx, `
		delete from belfry.page_texts
		where monitor_id = $1 and digest <> $2 and digest not in (
			select digest from belfry.page_versions where monitor_id = $1 and seq > $3)`, row.ID, row.State.Baseline, v.Seq-int64(row.Check.Page.KeepVersions))
	return err
}

// shownHunks bounds the hunks of a difference in a notification.
const shownHunks = 10

// showChange adds the difference to the notification of a page change.
func (c *Change) showChange(row MonitorRow, j monitor.Judgement, o *monitor.Observation) error {
	if j.Version == nil || j.Version.Before == "" || o == nil || o.Page == nil {
		return nil
	}
	for i, n := range j.Notifications {
		if n.Type != alert.NotificationChanged {
			continue
		}
		before, err := c.s.pageText(c.Ctx, c.Tx, row.ID, j.Version.Before)
		if err != nil {
			return err
		}
		j.Notifications[i].Diff = textdiff.Diff(before, o.Page.Text, textdiff.Options{MaxBytes: task.MaxSnapshot}).Unified(shownHunks)
	}
	return nil
}

// pageText returns a stored text, or "" if it is no longer kept.
func (s *Store) pageText(ctx context.Context, tx base.Tx, monitor int64, digest string) (string, error) {
	packed, kept, err := base.First(ctx, tx, func(r base.Rows) (b []byte, err error) { return b, r.Scan(&b) }, `
		select text
		from belfry.page_texts
		where monitor_id = $1 and digest = $2`, monitor, digest)
	if err != nil || !kept {
		return "", err
	}
	return unpack(packed)
}

func pack(text string) ([]byte, error) {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(z, text); err != nil {
		return nil, err
	}
	err = z.Close() // Close writes the last bytes, so it comes before they are read
	return b.Bytes(), err
}

func unpack(packed []byte) (string, error) {
	b, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), task.MaxPageText+1))
	return string(b), err
}

// pageOf returns a monitor that checks a page.
func (s *Store) pageOf(ctx context.Context, tx base.Tx, namespace, name string, lock bool) (MonitorRow, error) {
	row, err := s.ReadMonitor(ctx, tx, base.NamespaceOr(namespace), name, lock)
	if err == nil && row.Check.Page == nil {
		err = core.Errorf(core.Conflict, "monitor %q does not look at a page", name)
	}
	return row, err
}

// PageVersions lists the versions of a page, newest first, without the texts.
func (s *Store) PageVersions(ctx context.Context, f view.VersionFilter) (p core.Page[monitor.PageVersion], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.pageOf(ctx, tx, f.Namespace, f.Monitor, false)
		if err != nil {
			return err
		}
		w := &base.Where{}
		w.And("v.monitor_id = ?", row.ID)
		if before > 0 {
			w.And("v.seq < ?", before)
		}
		all, err := base.Collect(ctx, tx, func(r base.Rows) (v monitor.PageVersion, err error) {
			var kept int
			err = r.Scan(base.ScanDoc(&v), &kept)
			v.Pruned, v.Baseline = kept == 0, v.Digest == row.State.Baseline
			return v, err
		}, `
			select v.doc, (select count(*) from belfry.page_texts t where t.monitor_id = v.monitor_id and t.digest = v.digest)
			from belfry.page_versions v
			where `+w.Sql()+`
			order by v.seq desc
			limit `+strconv.Itoa(limit+1), w.Args...)
		p = base.Page(all, limit, func(v monitor.PageVersion) string { return base.EncodeCursor(strconv.FormatInt(v.Seq, 10)) })
		return err
	})
	return p, err
}

// PageVersion returns one version with its text, by its number. 0 is the newest version and -1 the baseline.
func (s *Store) PageVersion(ctx context.Context, namespace, monitor string, seq int64) (v monitor.PageVersion, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.pageOf(ctx, tx, namespace, monitor, false)
		if err != nil {
			return err
		}
		v, err = s.pageVersion(ctx, tx, row, seq)
		return err
	})
	return v, err
}

func (s *Store) pageVersion(ctx context.Context, tx base.Tx, row MonitorRow, seq int64) (v monitor.PageVersion, err error) {
	cond, arg := `seq = $2`, any(seq)
	switch seq {
	case 0:
		cond = `seq > $2`
	case -1:
		cond, arg = `digest = $2`, row.State.Baseline
	}
	v, found, err := base.First(ctx, tx, func(r base.Rows) (v monitor.PageVersion, err error) { return v, r.Scan(base.ScanDoc(&v)) }, `
		select doc
		from belfry.page_versions
		where monitor_id = $1 and `+cond+`
		order by seq desc
		limit 1`, row.ID, arg)
	if err != nil {
		return v, err
	}
	if !found {
		return v, core.Errorf(core.NotFound, "monitor %q has no such version of its page", row.Name).WithHint("see: belfry monitor versions %s", row.Name)
	}
	v.Baseline = v.Digest == row.State.Baseline
	packed, kept, err := base.First(ctx, tx, func(r base.Rows) (b []byte, err error) { return b, r.Scan(&b) }, `
		select text
		from belfry.page_texts
		where monitor_id = $1 and digest = $2`, row.ID, v.Digest)
	if err != nil {
		return v, err
	}
	if v.Pruned = !kept; kept {
		v.Text, err = unpack(packed)
	}
	return v, err
}

// AcceptPage makes a version the baseline for later comparisons, by its number. 0 is the newest version.
func (s *Store) AcceptPage(ctx context.Context, namespace, m string, seq int64) (v monitor.PageVersion, err error) {
	err = s.write(ctx, "accept page", func(c *Change) error {
		row, err := s.pageOf(ctx, c.Tx, namespace, m, true)
		if err != nil {
			return err
		}
		if v, err = s.pageVersion(ctx, c.Tx, row, seq); err != nil {
			return err
		}
		if v.Pruned {
			return core.Errorf(core.Conflict, "the text of version %d is no longer kept", v.Seq).WithHint("accept a newer one")
		}
		kept := v
		kept.AcceptedBy, kept.AcceptedAt, kept.Text = access.ActorOf(ctx), c.Now, ""
		if _, err := c.Tx.Exec(ctx, `update belfry.page_versions set doc = $3 where monitor_id = $1 and seq = $2`, row.ID, v.Seq, base.Text(kept)); err != nil {
			return err
		}
		v.AcceptedBy, v.AcceptedAt, v.Baseline = kept.AcceptedBy, kept.AcceptedAt, true
		if err := c.applyJudgement(&row, monitor.AcceptPage(row.Monitor, row.State, v.Digest, v.ConfigHash, c.Now), nil); err != nil {
			return err
		}
		return c.Audit("accept", "monitor", row.Namespace, row.Name, fmt.Sprintf("version %d", v.Seq), nil, nil)
	})
	return v, err
}
