package sqlite

import (
	"slices"
	"testing"
)

func TestWhatAStatementMayWriteTo(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"select * from queues join tasks on true", nil},
		{"insert into jobs select * from gone", nil},
		{"insert into jobs_done select (select s.name from sessions s where s.id = $1) from jobs", nil},
		{"update jobs set kind = (select k.kind from tasks k where k.id = jobs.task_id) from queues\njoin sessions on true", nil},
		{"update queues set paused_at = 1", []string{"queues"}},
		{"insert into sessions (id) values ($1)", []string{"sessions"}},
		{"insert or replace into tasks values ($1)", []string{"tasks"}},
		{"delete from tasks where id = $1", []string{"tasks"}},
		{"DELETE\nFROM tasks", []string{"tasks"}},
		{"with gone as (delete from tasks returning id) insert into jobs select id from gone", []string{"tasks"}},
		{"update sessions set name = (select name from sessions limit 1)", []string{"sessions"}},
		{"update tasks set doc = (select doc from queues)", []string{"tasks"}},
		{"update jobs set id = 1 from other, queues", []string{"queues"}}, // not known to be read
		{"delete from jobs using queues", []string{"queues"}},
	} {
		if got := written(c.query); !slices.Equal(got, c.want) {
			t.Errorf("%q writes to %q, want %q", c.query, got, c.want)
		}
	}
}
