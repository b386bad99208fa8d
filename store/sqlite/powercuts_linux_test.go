package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

const (
	powerSeed = 23  // of the load
	cuts      = 300 // how many the lane tries; each is a seed
)

// The trace of one load is replayed up to each cut, and what the disk then holds is
// opened by the store.
func TestPowerCutsLoseNothingAcknowledged(t *testing.T) {
	d := loaded(t, "FULL", 3)
	held := 0
	for seed := range uint64(cuts) {
		c := d.cut(seed)
		if err := survives(t, d, c); err != nil {
			t.Errorf("cut %d, before line %d of %d: %v", seed, c.at, d.last, err)
		}
		held += len(before(d.acks, c.at))
	}
	t.Logf("%d cuts, %d acknowledgements before them, all kept", cuts, held)
}

func before(acks []ack, at int) []ack {
	n := 0
	for n < len(acks) && acks[n].at < at {
		n++
	}
	return acks[:n]
}

// survives opens what a cut leaves and looks at all of it.
func survives(t *testing.T, d *disk, c cut) error {
	t.Helper()
	_, lost, err := afterCut(t, d, c)
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d acknowledged transitions are lost: %v", len(lost), lost[:min(len(lost), 5)])
	}
	return nil
}

// afterCut answers in which state each acknowledged object is, and which
// acknowledgements are not kept. Whatever else is wrong is an error.
func afterCut(t *testing.T, d *disk, c cut) (found map[string]string, lost []string, err error) {
	t.Helper()
	folder, err := os.MkdirTemp(t.TempDir(), "cut")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := c.leave(d, folder); err != nil {
		t.Fatal(err)
	}
	ctx, clock := t.Context(), storetest.NewClock()
	db, goOn, err := sqlite.OpenInSteps(ctx, fileIn(folder), sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Clock: clock.Now}})
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	known := before(d.acks, c.at)
	if found, err = look(ctx, db, known); err == nil {
		if lost, err = missing(d.acks, len(known), found); err == nil {
			err = whole(ctx, db)
		}
	}
	if err != nil {
		return found, lost, errors.Join(err, db.Close())
	}
	st, err := goOn()
	if err != nil {
		return found, lost, fmt.Errorf("go on: %w", err)
	}
	return found, lost, errors.Join(whole(ctx, db), goesOn(ctx, st, known, lost), st.Close())
}

func look(ctx context.Context, db base.DB, acks []ack) (found map[string]string, err error) {
	found = map[string]string{}
	for _, a := range acks {
		if _, seen := found[a.what]; !seen {
			if found[a.what], err = lookUp(ctx, db, a.what); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// unclaimed is a job that a schedule made, before a client has seen it.
const unclaimed = "waits/0/0/0"

// missing compares each object that the first n acknowledgements name: it is there
// as in the last of them or as it was later.
func missing(acks []ack, n int, found map[string]string) (lost []string, err error) {
	history, least := map[string][]string{}, map[string]int{}
	for i, a := range acks {
		if i < n {
			least[a.what] = len(history[a.what])
		}
		history[a.what] = append(history[a.what], a.is)
	}
	for what, from := range least {
		is, states := found[what], history[what]
		switch {
		case strings.HasPrefix(what, "occurrences:"):
			n, _ := strconv.Atoi(is)
			floor, _ := strconv.Atoi(states[from])
			if n < floor {
				lost = append(lost, fmt.Sprintf("%s is %d, acknowledged as %d", what, n, floor))
			}
		case slices.Contains(states[from:], is):
		case is == "" || is == unclaimed || slices.Contains(states[:from], is):
			lost = append(lost, fmt.Sprintf("%s is %q, acknowledged as %s", what, is, states[from]))
		default:
			err = errors.Join(err, fmt.Errorf("%s is %s, which it never was: %v", what, is, states))
		}
	}
	return lost, err
}

func lookUp(ctx context.Context, db base.DB, what string) (string, error) {
	kind, name, _ := strings.Cut(what, ":")
	query := map[string]string{"job": jobSQL, "key": keySQL, "task": taskSQL, "queue": queueSQL, "occurrences": occurrencesSQL}[kind]
	is, err := textOf(ctx, db, query, name)
	if is == "0" && (kind == "task" || kind == "queue") {
		is = ""
	}
	return is, err
}

// halves are what would be there of a transition that is half there, counted.
var halves = map[string]string{
	"jobs that are live and ended":             `select count(*) from belfry.jobs join belfry.jobs_done using (id)`,
	"leases of jobs that are not ready":        `select count(*) from belfry.running where job_id not in (select id from belfry.jobs where state = 'ready')`,
	"jobs with two leases":                     `select count(*) from (select job_id from belfry.running group by job_id having count(*) > 1)`,
	"packs that have miscounted":               `select count(*) from belfry.packs p where living <> (select count(*) from belfry.packed where belfry.packed.number = p.number)`,
	"leases of sessions that are not there":    `select count(*) from belfry.running where session not in (select id from belfry.sessions)`,
	"live jobs whose attempts differ":          `select count(*) from belfry.jobs where attempt <> (select count(*) from belfry.attempts where job_id = belfry.jobs.id)`,
	"ended jobs whose attempts differ":         `select count(*) from belfry.jobs_done d where attempt <> (outcome <> '') + (select count(*) from belfry.attempts where belfry.attempts.job_id = d.id)`,
	"attempts without a job":                   `select count(*) from belfry.attempts where job_id not in (select id from belfry.jobs union all select id from belfry.jobs_done)`,
	"keys without a job":                       `select count(*) from belfry.job_keys where job_id not in (select id from belfry.jobs union all select id from belfry.jobs_done)`,
	"keys of jobs that do not know them":       `select count(*) from belfry.job_keys k join (select id, idem_key from belfry.jobs union all select id, idem_key from belfry.jobs_done) j on j.id = k.job_id where j.idem_key <> k.name`,
	"live jobs with one active key":            `select count(*) from (select active_key from belfry.jobs not indexed where active_key is not null group by namespace, active_key having count(*) > 1)`,
	"occurrences without their job":            `select count(*) from belfry.occurrences where job_id > 0 and job_id not in (select id from belfry.jobs union all select id from belfry.jobs_done)`,
	"jobs of schedules without an occurrence":  `select count(*) from (select id, schedule_id from belfry.jobs union all select id, schedule_id from belfry.jobs_done) where schedule_id > 0 and id not in (select job_id from belfry.occurrences)`,
	"occurrences beyond their high-water mark": `select count(*) from belfry.occurrences o join belfry.schedules s on s.id = o.schedule_id where o.nominal > s.high_water`,
	"tasks of jobs that are not there":         `select count(*) from belfry.jobs where task_id not in (select id from belfry.tasks)`,
	"numbers of jobs that would come again":    `select count(*) from belfry.jobs where id > (select value from belfry.sequences where name = 'job')`,
}

func whole(ctx context.Context, db base.DB) error {
	var errs []error
	for pragma, want := range map[string]string{"integrity_check": "ok", "foreign_key_check": ""} {
		if is, err := textOf(ctx, db, "pragma "+pragma); err != nil || is != want {
			errs = append(errs, fmt.Errorf("%s: %s, %w", pragma, is, err))
		}
	}
	for what, query := range halves {
		if n, err := textOf(ctx, db, strings.Replace(query, "count(*)", "count(*) || ''", 1)); err != nil || n != "0" {
			errs = append(errs, fmt.Errorf("%s: %s, %w", what, n, err))
		}
	}
	return errors.Join(errs...)
}

// goesOn uses the store: a key answers its job, and new work gets through.
func goesOn(ctx context.Context, st *store.Store, acks []ack, lost []string) error {
	for i := len(acks) - 1; i >= 0 && len(lost) == 0; i-- {
		name, found := strings.CutPrefix(acks[i].what, "key:")
		if !found {
			continue
		}
		j, err := strconv.ParseInt(acks[i].is, 10, 64)
		if err != nil {
			return err
		}
		known, err := st.Job(ctx, "default", j)
		if err != nil {
			return err
		}
		out, err := st.Enqueue(ctx, []job.NewJob{{Task: known.Task, Key: name, Input: known.Input}})
		if err != nil || out[0].Job.ID != j || !out[0].Existing {
			return fmt.Errorf("key %s, whose job is %d, answers %+v, %w", name, j, out, err)
		}
		break
	}
	out, err := st.Enqueue(ctx, []job.NewJob{{Task: "after-the-cut", Kind: "func"}})
	if err != nil || out[0].Existing {
		return fmt.Errorf("a new job: %+v, %w", out, err)
	}
	_, err = st.FireDue(ctx)
	return err
}

// With NORMAL a program gives up the last commits, and nothing else: what is there
// is a beginning of what was acknowledged.
func TestPowerCutsWithNormalLoseTheLastCommitsAlone(t *testing.T) {
	d := loaded(t, "NORMAL", 1)
	losing := 0
	for seed := range uint64(cuts / 3) {
		c := d.cut(seed)
		found, lost, err := afterCut(t, d, c)
		if err == nil && len(lost) > 0 {
			losing++
			err = inOrder(before(d.acks, c.at), found)
		}
		if err != nil {
			t.Errorf("cut %d, before line %d of %d: %v", seed, c.at, d.last, err)
		}
	}
	if losing == 0 {
		t.Error("no cut has lost a commit: what is cut was flushed each time")
	}
	t.Logf("%d cuts, of which %d have lost the last commits", cuts/3, losing)
}

// inOrder reports whether what is there is a beginning of what was acknowledged to the
// one client. What was acknowledged with the same words has no order.
func inOrder(acks []ack, found map[string]string) error {
	is := map[string]string{} // as acknowledged so far
	there := map[string]int{} // the last acknowledgement of an object that is there
	var changes []ack
	for _, a := range acks {
		if was, known := is[a.what]; known && was == a.is || a.is == "0" {
			continue
		}
		is[a.what] = a.is
		changes = append(changes, a)
		if found[a.what] == a.is {
			there[a.what] = len(changes)
		}
	}
	var gone *ack
	for i, a := range changes {
		switch {
		case there[a.what] <= i && gone == nil:
			gone = &a
		case there[a.what] > i && gone != nil && gone.at < a.at:
			return fmt.Errorf("%s %s is lost, while the later %s %s is there", gone.what, gone.is, a.what, a.is)
		}
	}
	return nil
}

// The lane finds what it looks for: on a disk whose flushes do nothing, for one of
// the files or for all as with OFF, cuts lose acknowledged transitions or harm the file.
func TestPowerCutsAreFoundOnADiskThatLies(t *testing.T) {
	d := loaded(t, "FULL", 3)
	for name, lies := range map[string][]string{
		"the log": {"-wal"}, "the database": {"belfry.db"}, "the folder": {"/"}, "all": {"-wal", "belfry.db", "-journal", "/"},
	} {
		lost, harmed := 0, 0
		var example error
		for seed := range uint64(cuts / 6) {
			switch _, gone, err := afterCut(t, d, d.cut(seed, lies...)); {
			case err != nil:
				harmed++
				example = err
			case len(gone) > 0:
				lost++
			}
		}
		t.Logf("a disk that lies about %s: of %d cuts %d have lost transitions, and %d harmed the file: %v", name, cuts/6, lost, harmed, example)
		if name != "the folder" && lost == 0 || lost+harmed < 2 {
			t.Errorf("a disk that lies about %s is hardly found: %d, %d", name, lost, harmed)
		}
		if name == "the database" && harmed == 0 {
			t.Errorf("no file was harmed of which the flushes did nothing")
		}
	}
}
