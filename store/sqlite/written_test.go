package sqlite

import (
	"slices"
	"testing"
)

func TestTablesThatAStatementWrites(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"select * from belfry.queues join belfry.tasks on true", nil},
		{"insert into belfry.jobs select * from gone", nil},
		{"insert into belfry.jobs_done select (select s.name from belfry.sessions s where s.id = $1) from belfry.jobs", nil},
		{"update belfry.jobs set kind = (select k.kind from belfry.tasks k where k.id = belfry.jobs.task_id) from belfry.queues\njoin belfry.sessions on true", nil},
		{"update belfry.queues set paused_at = 1", []string{"queues"}},
		{"insert into belfry.sessions (id) values ($1)", []string{"sessions"}},
		{"insert or replace into tasks values ($1)", []string{"tasks"}},
		{"delete from belfry.tasks where id = $1", []string{"tasks"}},
		{"DELETE\nFROM tasks", []string{"tasks"}},
		{"with gone as (delete from belfry.tasks returning id) insert into belfry.jobs select id from gone", []string{"tasks"}},
		{"update belfry.sessions set name = (select name from belfry.sessions limit 1)", []string{"sessions"}},
		{"update belfry.tasks set doc = (select doc from belfry.queues)", []string{"tasks"}},
		{"update belfry.jobs set id = 1 from other, belfry.queues", []string{"queues"}}, // not known to be read
		{"delete from belfry.jobs using belfry.queues", []string{"queues"}},
	} {
		if got := written(c.query); !slices.Equal(got, c.want) {
			t.Errorf("%q writes to %q, want %q", c.query, got, c.want)
		}
	}
}
