package sim

import (
	"errors"
	"strings"
)

// plant is a fault that is put into the product on purpose, by changing its statements on their way to the database, or by a
// disk that forgets a commit.
type plant struct {
	name     string
	old, new string
	also     [2]string // another part of the same statement, and what it becomes
	forget   bool
	seeds    uint64 // that are enough to find it
}

var errForgotten = errors.New("what was committed is forgotten")

// plants are what a simulation has to find.
var plants = []plant{
	{name: "a success under a lost lease counts",
		old: "and l.number = t.lease and (l.session = $2 or $2 = '')", new: "and $2 = $2",
		also: [2]string{"j.timeout, l.number, l.session", "j.timeout, t.lease, l.session"}, seeds: 20},
	{name: "an idempotency key answers the last job",
		old: "where belfry.job_keys.expires_at <= $1", new: "where $1 = $1", seeds: 10},
	{name: "firing writes some occurrences without their jobs",
		old: "returning schedule_id, nominal", new: "returning schedule_id, case when nominal % 7 = 0 then 0 else nominal end", seeds: 10},
	{name: "firing moves on without some occurrences",
		old: "where true\n\t\t\ton conflict (schedule_id, nominal)", new: "where nominal % 7 <> 0\n\t\t\ton conflict (schedule_id, nominal)", seeds: 10},
	{name: "a session is given up before its lease ends",
		old: "where ended_at = 0 and expires_at < $2 and ttl", new: "where ended_at = 0 and expires_at < $2 + 25000000 and ttl", seeds: 10},
	{name: "a lost session is never given up",
		old: "where ended_at = 0 and expires_at < $2 and ttl", new: "where 1 = 0 and expires_at < $2 and ttl", seeds: 10},
	{name: "the release of a lost session forgets a job",
		old: "order by number, job_id\n\t\tlimit $2 + 0", new: "order by number, job_id\n\t\tlimit $2 + 0 offset 1", seeds: 10},
	{name: "a limit over all workers counts too few",
		old: "where slot_of = $1 limit $2 + 0", new: "where slot_of = $1 limit $2 - 1", seeds: 10},
	{name: "an overlap is not looked for",
		old: "where schedule_id > 0 and trigger <> 'backfill'", new: "where schedule_id < 0 and trigger <> 'backfill'", seeds: 10},
	{name: "a claim steps over some jobs",
		old: "where state = 'ready' and ", new: "where state = 'ready' and id % 50 <> 0 and ", seeds: 10},
	{name: "a renewal does not keep a session",
		old: "set renewed_at = $2, expires_at = $2 + ttl", new: "set renewed_at = $2", seeds: 10},
	{name: "what never arrived is kept by a session that lives",
		old: "where session = $1 and number >= $2", new: "where session = $1 and number >= $2 and 1 = 0", seeds: 10},
	{name: "a disk forgets one commit in 300",
		forget: true, seeds: 10},
}

// statement is what becomes of a statement.
func (p *plant) statement(sql string) string {
	if p == nil || p.old == "" || !strings.Contains(sql, p.old) {
		return sql
	}
	sql = strings.ReplaceAll(sql, p.old, p.new)
	if p.also[0] != "" {
		sql = strings.ReplaceAll(sql, p.also[0], p.also[1])
	}
	return sql
}

// forgets reports that a commit is undone, though it is answered.
func (p *plant) forgets(w *world, tx *txn) bool {
	if p == nil || !p.forget || tx.done < 3 || !w.chance(300, "forget") {
		return false
	}
	return true
}
