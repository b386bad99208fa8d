package sqlite

import (
	"context"
	"fmt"
	"os"

	"github.com/belfry-run/belfry/view"
)

// counted are the tables with a growing row number, and the column of this number.
var counted = []struct{ table, key string }{
	{"jobs", "id"}, {"jobs_done", "seq"}, {"attempts", "seq"}, {"logs", "row"}, {"occurrences", "rowid"},
	{"tasks", "id"}, {"schedules", "id"}, {"monitors", "id"}, {"audit", "seq"},
}

// Inspect reads figures of the file. The first and the last number of a table bound its number of rows.
func (db *DB) Inspect(ctx context.Context) (d view.DatabaseHealth, err error) {
	f := &view.DatabaseFile{Synchronous: db.synchronous}
	d.File = f
	if f.Checked, err = db.checkFile(ctx); err != nil {
		return d, err
	}
	for pragma, to := range map[string]any{"page_size": &f.PageSize, "page_count": &f.Pages, "freelist_count": &f.Free, "journal_mode": &f.Journal} {
		if err := db.ask(ctx, "pragma "+pragma, to); err != nil {
			return d, fmt.Errorf("ask for %s: %w", pragma, err)
		}
	}
	if info, err := os.Stat(db.path + "-wal"); err == nil {
		f.WAL = info.Size()
	}
	d.Size = f.Pages*f.PageSize + f.WAL
	for _, c := range counted {
		t := view.TableHealth{Name: string(db.names) + c.table}
		// Two lookups: min and max in one query would read the whole table.
		query := fmt.Sprintf("select coalesce((select max(%[1]s) from belfry.%[2]s) - (select min(%[1]s) from belfry.%[2]s) + 1, 0)", c.key, c.table)
		if err := db.ask(ctx, query, &t.Rows); err != nil {
			return d, err
		}
		d.Tables = append(d.Tables, t)
	}
	return d, nil
}
