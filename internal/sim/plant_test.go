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
	forget   bool
	seeds    uint64 // that are enough to find it
}

var errForgotten = errors.New("what was committed is forgotten")

// plants are what a simulation has to find.
var plants = []plant{
	{name: "a success under a lost lease counts",
		old: "and l.number = t.lease and (l.session = $2 or $2 = '')", new: "and $2 = $2", seeds: 3},
	{name: "an idempotency key answers the last job",
		old: "where belfry.job_keys.expires_at <= $1", new: "where $1 = $1", seeds: 3},
	{name: "firing writes some occurrences without their jobs",
		old: "returning schedule_id, nominal", new: "returning schedule_id, case when nominal % 7 = 0 then 0 else nominal end", seeds: 3},
	{name: "firing moves on without some occurrences",
		old: "where true\n\t\t\ton conflict (schedule_id, nominal)", new: "where nominal % 7 <> 0\n\t\t\ton conflict (schedule_id, nominal)", seeds: 3},
	{name: "a session is given up before its lease ends",
		old: "where ended_at = 0 and expires_at < $2 and ttl", new: "where ended_at = 0 and expires_at < $2 + 25000000 and ttl", seeds: 3},
	{name: "a lost session is never given up",
		old: "where ended_at = 0 and expires_at < $2 and ttl", new: "where 1 = 0 and expires_at < $2 and ttl", seeds: 3},
	{name: "a limit over all workers counts too few",
		old: "where slot_of = $1 limit $2 + 0", new: "where slot_of = $1 limit $2 - 1", seeds: 3},
	{name: "an overlap is not looked for",
		old: "where schedule_id > 0 and origin <> 'backfill'", new: "where schedule_id < 0 and origin <> 'backfill'", seeds: 3},
	{name: "a claim steps over some jobs",
		old: "where state = 'ready' and ", new: "where state = 'ready' and id % 50 <> 0 and ", seeds: 3},
	{name: "a disk forgets a commit in a thousand",
		forget: true, seeds: 3},
}

// statement is what becomes of a statement.
func (p *plant) statement(w *world, sql string) string {
	if p == nil || p.old == "" || !strings.Contains(sql, p.old) {
		return sql
	}
	return strings.ReplaceAll(sql, p.old, p.new)
}

// forgets reports that a commit is undone, though it is answered.
func (p *plant) forgets(w *world, tx *txn) bool {
	if p == nil || !p.forget || tx.done < 3 || !w.chance(1000, "forget") {
		return false
	}
	return true
}
