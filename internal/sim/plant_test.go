package sim

import (
	"errors"
	"strings"
)

// plant is a deliberate fault of the product: a changed SQL statement, or a disk that forgets a commit.
type plant struct {
	name     string
	area     string // area whose scripts show it
	old, new string
	also     [2]string // another part of the same statement and its replacement
	forget   bool
	seeds    uint64 // number of seeds that find it
}

var errForgotten = errors.New("what was committed is forgotten")

// plants are the faults that a simulation must find.
var plants = []plant{
	{name: "a success under a lost lease counts", area: "jobs",
		old: "and l.number = t.lease and (l.session = $2 or $2 = '')", new: "and $2 = $2",
		also: [2]string{"j.timeout, l.number, l.session", "j.timeout, t.lease, l.session"}, seeds: 20},
	{name: "an idempotency key answers the last job", area: "jobs",
		old: "where belfry.job_keys.expires_at <= $1", new: "where $1 = $1", seeds: 10},
	{name: "firing writes some occurrences without their jobs", area: "jobs",
		old: "returning schedule_id, nominal", new: "returning schedule_id, case when nominal % 7 = 0 then 0 else nominal end", seeds: 10},
	{name: "firing moves on without some occurrences", area: "jobs",
		old: "where true\n\t\t\ton conflict (schedule_id, nominal)", new: "where nominal % 7 <> 0\n\t\t\ton conflict (schedule_id, nominal)", seeds: 10},
	{name: "a session is given up before its lease ends", area: "jobs",
		old: "where ended_at = 0 and expires_at < $2 and ttl", new: "where ended_at = 0 and expires_at < $2 + 25000000 and ttl", seeds: 10},
	{name: "a lost session is never given up", area: "jobs",
		old: "where ended_at = 0 and expires_at < $2 and ttl", new: "where 1 = 0 and expires_at < $2 and ttl", seeds: 10},
	{name: "the release of a lost session forgets a job", area: "jobs",
		old: "order by number, job_id\n\t\tlimit $2 + 0", new: "order by number, job_id\n\t\tlimit $2 + 0 offset 1", seeds: 10},
	{name: "a limit over all workers counts too few", area: "jobs",
		old: "where slot_of = $1 limit $2 + 0", new: "where slot_of = $1 limit $2 - 1", seeds: 10},
	{name: "an overlap is not looked for", area: "jobs",
		old: "where schedule_id > 0 and trigger <> 'backfill'", new: "where schedule_id < 0 and trigger <> 'backfill'", seeds: 10},
	{name: "a claim steps over some jobs", area: "jobs",
		old: "where state = 'ready' and ", new: "where state = 'ready' and id % 50 <> 0 and ", seeds: 10},
	{name: "a renewal does not keep a session", area: "jobs",
		old: "set renewed_at = $2, expires_at = $2 + ttl", new: "set renewed_at = $2", seeds: 10},
	{name: "what never arrived is kept by a session that lives", area: "jobs",
		old: "where session = $1 and number >= $2", new: "where session = $1 and number >= $2 and 1 = 0", seeds: 10},
	{name: "a limit lets in one more than it says", area: "limits",
		old: "where a.key_id = k.id and a.stage = 2 limit $2 + 0) as bounded)", new: "where a.key_id = k.id and a.stage = 2 limit $2 + 0 offset 1) as bounded)", seeds: 10},
	{name: "a rate forgets what has begun", area: "limits",
		old: "set next_at = t.next_at, look_at", new: "set next_at = 0 * t.next_at, look_at", seeds: 10},
	{name: "a sequence gives the place of a retry away", area: "limits",
		old: "where k.id = belfry.limit_jobs.key_id) <> 'sequence'", new: "where k.id = belfry.limit_jobs.key_id) <> ''", seeds: 10},
	{name: "who waits for a rate is not looked at again", area: "limits",
		old: "look_at = t.look_at, stopped_by", new: "look_at = 0 * t.look_at, stopped_by", seeds: 10},
	{name: "a fair queue has keys wait behind what others have waiting", area: "limits",
		old: "order by priority desc, turn, id", new: "order by priority desc, id", seeds: 10},
	{name: "a workflow loses the output of a second attempt", area: "workflows",
		old: "output = t.output, size = t.size", new: "output = case when t.attempts > 1 then null else t.output end, size = t.size", seeds: 10},
	{name: "a workflow does not notice the end of a second attempt", area: "workflows",
		old: "and belfry.workflow_items.job_id > 0 and belfry.workflow_items.ended_at = 0", new: "and belfry.workflow_items.job_id > 0 and t.attempts < 2", seeds: 10},
	{name: "a workflow forgets signals", area: "workflows",
		old: "where run_id = $1 and name = $2 and step < 0", new: "where run_id = $1 and name = $2 and step < -1", seeds: 10},
	{name: "a workflow is not looked at when its time has come", area: "workflows",
		old: "where due_at > 0 and due_at <= $1", new: "where due_at > 0 and due_at <= $1 and job_id % 7 <> 0", seeds: 10},
	{name: "an attempt does not read the steps of those before it", area: "steps",
		old: "from belfry.steps where job_id = $1 order by number", new: "from belfry.steps where job_id = $1 and job_id % 3 > 3 order by number", seeds: 10},
	{name: "the end of a child is not noticed", area: "steps",
		old: "and kind = 'await' and ended_at = 0", new: "and kind = 'await' and ended_at = 1", seeds: 10},
	{name: "a signal that comes before its step is forgotten", area: "steps",
		old: "from belfry.signals where job_id = $1 and name = $2", new: "from belfry.signals where job_id = $1 and name = $2 and taken = 1", seeds: 10},
	{name: "a wait that ends while its attempt does is slept over", area: "steps",
		old: "and told > 0 and ended_at > 0", new: "and told > 0 and ended_at < 0", seeds: 20},
	{name: "a signal does not make its job due", area: "steps",
		old: "set due_at = $2 where id = $1 and state = 'scheduled' and due_at > $2", new: "set due_at = $2 + 0 * $1 where 1 = 0", seeds: 10},
	{name: "a debounced job keeps its first input", area: "windows",
		old: "set priority = t.priority, input = t.input, tags", new: "set priority = t.priority, tags", seeds: 10},
	{name: "a debounced job does not count who joins it", area: "windows",
		old: "set joined = belfry.debounced.joined + excluded.joined", new: "set joined = excluded.joined", seeds: 10},
	{name: "a window lasts from its first request", area: "windows",
		old: "input = t.input, tags = t.tags, due_at = t.due_at, max_attempts", new: "input = t.input, tags = t.tags, max_attempts", seeds: 10},
	{name: "a quota forgets what was let in since it counted", area: "windows",
		old: "set counted = $2, added = $3, counts = $4, counted_at = $5, marked_at = $6, next_at = $7", new: "set counted = $2, added = 0 * $3, counts = $4, counted_at = $5, marked_at = $6, next_at = $7", seeds: 10},
	{name: "a rate of enqueueing forgets what was let in", area: "windows",
		old: "set counted = $2, added = $3, counts = $4, counted_at = $5, marked_at = $6, next_at = $7", new: "set counted = $2, added = $3, counts = $4, counted_at = $5, marked_at = $6, next_at = 0 * $7", seeds: 10},
	{name: "a bound forgets what was let in since it counted", area: "windows",
		old: "set counted = $2, added = $3, counts = $4, counted_at = $5, marked_to", new: "set counted = $2, added = 0 * $3, counts = $4, counted_at = $5, marked_to", seeds: 10},
	{name: "a hook misses some events", area: "hooks",
		old: "where true\n\t\torder by t.place", new: "where length(t.event) % 7 > 0\n\t\torder by t.place", seeds: 10},
	{name: "a hook gets its events in a wrong order", area: "hooks",
		old: "where hook_id = $1 and sent_at = 0 and seq = 0\n\t\torder by id", new: "where hook_id = $1 and sent_at = 0 and seq = 0\n\t\torder by id desc", seeds: 10},
	{name: "two nodes deliver to a hook at once", area: "hooks",
		old: "update belfry.hooks set taken_until = $2 where id = $1", new: "update belfry.hooks set taken_until = 0 * $2 where id = $1", seeds: 10},
	{name: "events of a failed delivery are not sent again", area: "hooks",
		old: "set tries = tries + 1, due_at = $2, taken_until = 0", new: "set tries = tries + 1, due_at = $2 + 90000000000, taken_until = 0", seeds: 10},
	{name: "a job that has waited is not raised", area: "ageing",
		old: "case when t.priority > belfry.jobs.priority then t.priority else belfry.jobs.priority end, aged", new: "belfry.jobs.priority, aged", seeds: 10},
	{name: "a job that has waited is raised too far", area: "ageing",
		old: "then t.priority else belfry.jobs.priority end, aged", new: "then t.priority + 2 else belfry.jobs.priority end, aged", seeds: 10},
	{name: "a limit of a namespace is not there", area: "shares",
		old: "from belfry.namespaces\n\t\twhere limits <> ''", new: "from belfry.namespaces\n\t\twhere limits = 'none'", seeds: 10},
	{name: "what comes of age is not held by a limit of its namespace", area: "shares",
		old: "namespace in (select name from belfry.namespaces where limits <> '')", new: "namespace in (select name from belfry.namespaces where limits = 'none')", seeds: 10},
	{name: "what comes of age is not held by a limit of its queue", area: "shares",
		old: "queue in (select name from belfry.queues where limits <> '')", new: "queue in (select name from belfry.queues where limits = 'none')", seeds: 10},
	{name: "a disk forgets one commit in 300", area: "jobs",
		forget: true, seeds: 10},
}

// statement returns a statement with the fault.
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

// forgets reports whether a commit is undone although it is acknowledged.
func (p *plant) forgets(w *world, tx *txn) bool {
	if p == nil || !p.forget || tx.done < 3 || !w.chance(300, "forget") {
		return false
	}
	return true
}
