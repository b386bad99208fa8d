package view

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

// A guarantee that a server does not allow is not a fault of the installation, and has a fix.
func TestADatabaseEpochReportsTheGuaranteesOfItsServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		epoch  Epoch
		detail string
		fix    bool
	}{
		{Epoch{Number: 1, Signs: SignsTimeline}, "the first; the server tells its timeline, so a failover or restore that loses commits is noticed", false},
		{Epoch{Number: at("10:00").UnixMicro(), Since: at("10:00"), Signs: SignsLog}, "since " + core.Stamp(at("10:00")) + "; the server tells only the length of its log", true},
		{Epoch{Number: 1, Signs: SignsNone}, "tells nothing of its history, so a failover or restore that loses commits is not noticed", true},
	} {
		checks := DatabaseHealth{Epoch: &row.epoch}.Judge()
		c := checks[len(checks)-1]
		if c.Name != "epoch" || !c.OK || !strings.Contains(c.Detail, row.detail) || strings.Contains(c.Fix, "grant execute") != row.fix {
			t.Errorf("%+v", c)
		}
	}
}

func TestADatabaseIsJudged(t *testing.T) {
	t.Parallel()
	now := at("10:00")
	healthy := DatabaseHealth{
		Now: now, Retention: Retention{Age: core.Duration(30 * 24 * time.Hour)}, OldestAt: now.AddDate(0, 0, -30), ReadyAt: now.Add(-time.Second), ReadyQueue: "mail",
		Tables: []TableHealth{{Name: "jobs", Rows: 1000, Dead: 900}, {Name: "jobs_done", Rows: 10_000_000, Dead: 1_000_000}}, Connections: 10, Most: 100,
		Transaction: &OldTransaction{Since: now.Add(-time.Second), Application: "belfry", State: "active"}, Slots: []WALSlot{{Name: "copy", Active: true, Held: 1 << 20}},
		File: &DatabaseFile{PageSize: 4096, Pages: 100, Synchronous: "FULL"},
	}
	for _, row := range []struct {
		name   string
		change func(*DatabaseHealth)
		wrong  string // what is, with a word of its detail and one of the way out
	}{
		{"all is well", func(*DatabaseHealth) {}, ""},
		{"empty", func(d *DatabaseHealth) { *d = DatabaseHealth{Now: now} }, ""},
		{"a backlog", func(d *DatabaseHealth) { d.ReadyAt = now.Add(-time.Hour) }, "backlog|queue mail has waited for 1h|belfry queue show mail"},
		{"overdue", func(d *DatabaseHealth) { d.DueAt = now.Add(-2 * time.Minute) }, "schedules|2m late|role engine"},
		{"old history", func(d *DatabaseHealth) { d.OldestAt = now.AddDate(0, 0, -40) }, "history|40d|retention"},
		{"dead rows", func(d *DatabaseHealth) { d.Tables[0].Dead = 200_000 }, "dead rows|200000 in jobs|alter table jobs set"},
		{"dead rows of partitions", func(d *DatabaseHealth) { d.Tables[1].Dead, d.Tables[1].Parts = 3_000_000, 30 }, "dead rows|3000000 in jobs_done|for each leaf of pg_partition_tree('jobs_done')"},
		{"an old transaction", func(d *DatabaseHealth) { d.Transaction.Since = now.Add(-time.Hour) }, `oldest transaction|active for 1h, of "belfry"|idle_in_transaction`},
		{"connections", func(d *DatabaseHealth) { d.Connections = 80 }, "connections|80 of 100|max_conns"},
		{"a slot", func(d *DatabaseHealth) { d.Slots[0].Held = 2 << 30 }, "write-ahead log|copy holds 2 GiB|pg_drop_replication_slot"},
		{"a long log", func(d *DatabaseHealth) { d.File.WAL = 1 << 30 }, "write-ahead log|1 GiB|reads for very long"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := healthy
			d.Tables, d.Slots = append([]TableHealth(nil), d.Tables...), append([]WALSlot(nil), d.Slots...)
			tx, file := *d.Transaction, *d.File
			d.Transaction, d.File = &tx, &file
			row.change(&d)
			var wrong []string
			for _, c := range d.Judge() {
				if !c.OK {
					wrong = append(wrong, c.Name+"|"+c.Detail+"|"+c.Fix)
				} else if c.Fix != "" || c.Detail == "" {
					t.Errorf("%+v", c)
				}
			}
			if row.wrong == "" && len(wrong) == 0 {
				return
			}
			if len(wrong) != 1 {
				t.Fatalf("wrong is %q", wrong)
			}
			for _, part := range strings.Split(row.wrong, "|") {
				if !strings.Contains(wrong[0], part) {
					t.Errorf("%q says nothing of %q", wrong[0], part)
				}
			}
		})
	}
}
