-- Times are microseconds since 1970 in UTC; 0 stands for none. belfry. stands for the prefix that
-- the store was opened with.

-- The schema

-- One row: the oldest schema version that a program must know to use this file.
create table belfry.schema_floor (
	version integer not null
);

insert into belfry.schema_floor (version) values (1);

-- Ids

-- The last id of each kind that was given out. Writer: the store, when it draws ids.
create table belfry.sequences (
	name  text primary key,
	value integer not null
) without rowid;

insert into belfry.sequences (name, value) values ('job', 0), ('lease', 0), ('definition', 0);

-- Definitions

-- Queues. Writers: Prepare (the first ones), SaveQueue, EnsureQueues, Apply, pause and resume.
create table belfry.queues (
	name          text primary key,
	title         text not null default '',
	description   text not null default '',
	priority      integer not null default 0,
	concurrency   integer not null,
	global_limit  integer not null default 0,
	limits        text not null default '', -- of its jobs, as JSON; empty: none
	fair          text not null default '', -- how its jobs take turns, as JSON; empty: the oldest goes first
	turn_base     integer not null default 0, -- where its turns begin since it became fair, or ceased to be
	max_waiting   integer not null default 0, -- jobs; 0: no bound
	on_full       text not null default '', -- what becomes of more: refuse, drop_oldest; empty without a bound
	ageing        integer not null default 0, -- how long a job waits for each priority that it is raised by; 0: none is
	paused_at     integer not null default 0,
	paused_by     text not null default '',
	paused_reason text not null default '',
	created_at    integer not null,
	updated_at    integer not null
);

create index belfry.queues_special on belfry.queues (name) where turn_base > 0 or limits <> '' or max_waiting > 0;

-- How full queues with a bound are. The row is the lock under which new jobs are let in. Writers: SaveQueue, and whatever
-- makes jobs.
create table belfry.queue_bounds (
	queue      text primary key,
	since      integer not null, -- when the queue was bounded
	counted    integer not null default 0, -- jobs that waited when they were last counted
	added      integer not null default 0, -- that were let in since
	counts     integer not null default 0, -- how often they were counted
	counted_at integer not null default 0,
	marked_to  integer not null default 0  -- jobs up to this id have been marked that were made before; -1: all
);

-- What namespaces may do; without a row, everything. Writer: SaveNamespace.
create table belfry.namespaces (
	name   text primary key,
	doc    text not null, -- as JSON
	limits text not null default '' -- of its jobs, as JSON, as doc has them; empty: none
);

create index belfry.namespaces_limits on belfry.namespaces (name) where limits <> '';

-- What namespaces with quotas use. The row is the lock under which new jobs, or definitions, are let in. Writers:
-- SaveNamespace, and whatever makes jobs.
create table belfry.quota_use (
	owner      text primary key, -- namespace:team-a of jobs, definitions:team-a of what is kept, logs:team-a
	counted    integer not null default 0, -- jobs that waited when they were last counted
	added      integer not null default 0, -- that were let in since
	counts     integer not null default 0, -- how often they were counted
	counted_at integer not null default 0,
	marked_at  integer not null default 0, -- when jobs were marked that were made before
	next_at    integer not null default 0  -- of the rate of enqueueing: the next in an even row
);

-- Bytes of logs that namespaces with a quota for them keep, by the hour of the pieces. Writers: SaveNamespace, Append, and
-- the pass that removes old logs.
create table belfry.log_use (
	namespace text not null,
	hour      integer not null, -- since 1970
	bytes     integer not null,
	primary key (namespace, hour)
);

-- Tasks: what to run, and its policy. Writers: saves of tasks; EnsureFuncs for the Go handlers of
-- a worker.
create table belfry.tasks (
	id         integer primary key,
	namespace  text not null,
	name       text not null,
	kind       text not null,
	queue      text not null,
	tags       text not null default '',
	generation integer not null,
	doc        text not null, -- the task as JSON, without its history
	created_at integer not null,
	updated_at integer not null,
	-- The artifact that a task runs, or nothing.
	artifact   text not null default '',
	limited    integer not null default 0, -- 1: it has limits
	requirement integer not null default 0, -- 0: any worker will do
	title      text not null default '', -- as people write it
	sought     text not null default '', -- the title as searches look for it, whatever its case
	unique (namespace, name)
);

create index belfry.tasks_queue on belfry.tasks (queue);
create index belfry.tasks_artifact on belfry.tasks (namespace, artifact) where artifact <> '';
create index belfry.tasks_requirement on belfry.tasks (requirement) where requirement > 0;
create index belfry.tasks_limited on belfry.tasks (id) where limited = 1;

-- What tasks need of a worker beyond its kind, each requirement once. Writers: saves of tasks;
-- housekeeping removes what is idle.
create table belfry.requirements (
	id      integer primary key,
	text    text not null unique, -- the requirement in one line
	doc     text not null,         -- as JSON
	-- Since when no task and no job needs it; 0: one does, or nobody has looked.
	idle_at integer not null default 0
);

-- Schedules: when a task runs. Writers: saves of schedules; FireDue and settling move next_at,
-- high_water, finish_at and runs.
create table belfry.schedules (
	id            integer primary key,
	namespace     text not null,
	name          text not null,
	task_id       integer not null,
	doc           text not null, -- the schedule as JSON, without its state
	state         text not null,
	generation    integer not null,
	next_at       integer not null, -- 0: nothing to do by itself
	high_water    integer not null,
	finish_at     integer not null,
	runs          integer not null,
	paused_at     integer not null default 0,
	paused_by     text not null default '',
	paused_reason text not null default '',
	created_at    integer not null,
	updated_at    integer not null,
	title      text not null default '', -- as people write it
	sought     text not null default '', -- the title as searches look for it, whatever its case
	unique (namespace, name)
);

create index belfry.schedules_due on belfry.schedules (next_at) where next_at > 0;
-- The schedules of a task, in the order of a list.
create index belfry.schedules_of_task on belfry.schedules (task_id, name);
-- Those that do not run. Most do, and have no entry: what fires writes nothing here.
create index belfry.schedules_resting on belfry.schedules (state, namespace, name) where state <> 'active';

-- Times that schedules leave out or keep to. Writers: saves of calendars.
create table belfry.calendars (
	id         integer primary key,
	namespace  text not null,
	name       text not null,
	generation integer not null,
	doc        text not null, -- the calendar as JSON, without its history
	created_at integer not null,
	updated_at integer not null,
	title      text not null default '', -- as people write it
	sought     text not null default '', -- the title as searches look for it, whatever its case
	unique (namespace, name)
);

-- The time zones that definitions name, as the node with the newest data has them. Writers: what
-- saves a definition, and FollowZones.
create table belfry.zones (
	name        text primary key,
	digest      text not null, -- of offsets and clock changes
	release     text not null, -- of the IANA data, '' if unknown
	data        text not null, -- RFC 8536, in base64
	replan_from integer not null -- schedules up to this id were planned by it; -1: all were
);

-- Runs of a schedule for times that have passed. Writers: requests for one, and the engine, which
-- advances it.
create table belfry.backfills (
	id          integer primary key,
	namespace   text not null,
	schedule_id integer not null,
	doc         text not null, -- the backfill as JSON, without its state
	state       text not null,
	done        integer not null default 0,
	made        integer not null default 0,
	left_out    integer not null default 0,
	created_at  integer not null,
	created_by  text not null,
	ended_at    integer not null default 0
);

create index belfry.backfills_active on belfry.backfills (id) where state = 'active';
create unique index belfry.backfills_one on belfry.backfills (schedule_id) where state in ('active', 'paused');

-- Definitions that are few and read as a whole: channels, alert rules, hooks, maintenance windows,
-- status pages. Writers: saves of them.
create table belfry.documents (
	id         integer primary key,
	noun       text not null,
	namespace  text not null,
	name       text not null,
	generation integer not null,
	doc        text not null, -- as JSON, without its history
	created_at integer not null,
	updated_at integer not null,
	title      text not null default '', -- as people write it
	sought     text not null default '', -- the title as searches look for it, whatever its case
	unique (noun, namespace, name)
);

-- Sealed values for tasks. Writers: saves of secrets, and the change of a seal key.
create table belfry.secrets (
	namespace  text not null,
	name       text not null,
	key_name   text not null, -- of the key that it is sealed with
	sealed     text not null,
	created_at integer not null,
	updated_at integer not null,
	updated_by text not null,
	primary key (namespace, name)
) without rowid;

-- Jobs that have not ended, and their leases

-- Jobs that have not ended. A job that ends moves to jobs_done, so what is looked at every time
-- stays small. Writers: Enqueue, FireDue, Promote, settling. A claim does not touch the row.
create table belfry.jobs (
	id           integer primary key,
	namespace    text not null,
	task_id      integer not null,
	task         text not null,
	kind         text not null,
	queue        text not null,
	-- Among the ready ones of its queue: its own, and what it has aged by.
	priority     integer not null,
	state        text not null,
	reason       text not null default '',
	note         text not null default '',
	error        text not null default '',
	input        text,
	tags         text not null default '',
	trigger      text not null,
	schedule     text not null default '',
	schedule_id  integer not null default 0,
	generation   integer not null default 0,
	nominal      integer not null default 0,
	due_at       integer not null,
	ready_at     integer not null default 0, -- since when it may be claimed; 0: not yet
	-- Its place among the ready ones of its priority: ready_at, or in a queue that takes turns what its turn says.
	turn         integer not null default 0,
	created_at   integer not null,
	attempt      integer not null default 0,
	failures     integer not null default 0,
	snoozes      integer not null default 0,
	max_attempts integer not null,
	timeout      integer not null,
	lease        integer not null default 0, -- the last that ended
	active_key   text,
	idem_key     text not null default '',
	requirement  integer not null default 0, -- of its task
	-- 1: of a task with limits, and under their keys.
	limited      integer not null default 0,
	-- 1: its namespace has a quota of waiting jobs, so it is counted.
	metered      integer not null default 0,
	-- Of a queue with a bound: 1 counts and may be dropped, 2 counts and is never dropped.
	bounded      integer not null default 0,
	-- Attempts that the machine spoiled, and that count apart from failures.
	infra        integer not null default 0,
	-- By how many priorities it stands above its own, because it has waited in a queue with ageing. Writer: the engine.
	aged         integer not null default 0,
	-- Jobs of one lane can be run by the same workers, whoever they are: of one queue,
	-- kind, handler, namespace and requirement. A claim seeks the lanes that its session can
	-- run, and steps over nothing that it cannot.
	lane         text generated always as (
		queue || char(31) || kind || char(31) || case when kind = 'func' then task else '' end || char(31) || namespace || char(31) || requirement
	) stored
);

create index belfry.jobs_ready on belfry.jobs (queue, priority desc, turn, id) where state = 'ready';
create index belfry.jobs_scheduled on belfry.jobs (due_at) where state = 'scheduled';
-- Counted by queue: without it each look at a queue would walk what is scheduled in all others.
create index belfry.jobs_scheduled_in on belfry.jobs (queue) where state = 'scheduled';
create index belfry.jobs_schedule on belfry.jobs (schedule_id) where schedule_id > 0;
create unique index belfry.jobs_active_key on belfry.jobs (namespace, active_key) where active_key is not null;
create index belfry.jobs_cycles on belfry.jobs (ready_at, id) where kind = 'cycle' and state = 'ready';
create index belfry.jobs_workflows on belfry.jobs (ready_at, id) where kind = 'workflow' and state = 'ready';
-- Jobs that wait for an upload.
create index belfry.jobs_uploads on belfry.jobs (task_id) where kind = 'program' and state = 'waiting';
-- Jobs that wait for a limit, as ageing walks them.
create index belfry.jobs_limited on belfry.jobs (queue, id) where state = 'waiting' and reason = 'limit';
create index belfry.jobs_metered on belfry.jobs (namespace) where metered = 1;
create index belfry.jobs_bounded on belfry.jobs (queue, priority, id) where bounded > 0;
create index belfry.jobs_requirement on belfry.jobs (requirement) where requirement > 0;
create index belfry.jobs_lanes on belfry.jobs (lane, priority desc, turn, id) where state = 'ready';

-- Turns

-- How far claims have come in fair queues. Writer: claims.
create table belfry.turns (
	queue    text not null,
	priority integer not null,
	turn     integer not null, -- the largest that was claimed, or one of shortly before
	primary key (queue, priority)
);

-- Keys of fair queues that have jobs waiting, or had some lately. The row is the lock under which jobs get their turns.
-- Writers: whatever has a job become ready; housekeeping forgets those whose turn has passed.
create table belfry.turn_keys (
	queue    text not null,
	priority integer not null,
	value    text not null, -- of the key
	next     integer not null, -- the turn that its next job has at least
	added    integer not null, -- what the last jobs added to it
	primary key (queue, priority, value)
);

-- Limits

-- Keys of limits that have jobs, or had some lately. The row is the lock under which it is decided who
-- is let in. Writers: whatever has a job become ready, and settling; the engine forgets idle ones.
create table belfry.limit_keys (
	id      integer primary key autoincrement,
	owner   text not null, -- whose limit it is, such as task:12
	name    text not null, -- of the limit
	value   text not null, -- of the key
	next_at integer not null default 0, -- of a rate: the next start in an even row
	look_at integer not null default 0, -- when the engine looks at it; 0: when a job of it ends
	stopped_by integer not null default 0, -- of a sequence: the job that failed, and that holds the others
	unique (owner, name, value)
);

create index belfry.limit_keys_stopped on belfry.limit_keys (owner) where stopped_by > 0;
create index belfry.limit_keys_look on belfry.limit_keys (look_at) where look_at > 0;

-- Jobs under keys of limits, from when they are due until they end or have to wait for a retry. Writers: as above.
create table belfry.limit_jobs (
	key_id   integer not null,
	job_id   integer not null,
	priority integer not null,
	stage    integer not null, -- 0: waits under another key; 1: waits here; 2: ready or running
	primary key (job_id, key_id)
) without rowid;

-- Who waits under a key, in their order, and who has entered.
create index belfry.limit_jobs_key on belfry.limit_jobs (key_id, stage, priority desc, job_id);

-- Jobs with limits that were settled in transactions of other programs, until the engine has let in who follows. Writers:
-- such transactions, and the engine.
create table belfry.limit_left (
	job_id integer primary key,
	failed integer not null default 0
);

-- Changes of definitions that not all of their jobs follow yet, and the last job that does. Writers: such changes, and the engine.
create table belfry.leftovers (
	kind      text not null, -- deleted, edited, limited or withdrawn
	owner     text not null, -- task:ID, schedule:ID, queue:NAME or namespace:NAME
	after_job integer not null,
	until_job integer not null,
	reason    text not null, -- of jobs that end with it
	note      text not null,
	seen      integer not null default 0, -- transactions from this number on know of the change; 0: some may not
	primary key (kind, owner)
);

-- Idempotency keys that were used, until they expire. Writers: Enqueue; housekeeping removes the
-- expired.
create table belfry.job_keys (
	namespace  text not null,
	name       text not null,
	job_id     integer not null,
	expires_at integer not null,
	-- What was asked for under the key: another request with it is refused.
	asked      text not null default '',
	primary key (namespace, name)
) without rowid;

create index belfry.job_keys_expiry on belfry.job_keys (expires_at);

-- Jobs whose task debounced them, and the requests that joined the first. Writer: Enqueue; housekeeping removes old ones.
create table belfry.debounced (
	job_id  integer primary key,
	joined  integer not null,
	last_at integer not null -- when the last was asked for
) without rowid;

create index belfry.debounced_last on belfry.debounced (last_at);

-- Jobs that were made from finished ones. Writer: RunAgain.
create table belfry.runs_again (
	job_id integer primary key,
	of_id  integer not null,
	at     integer not null
) without rowid;

create index belfry.runs_again_of on belfry.runs_again (of_id);

-- Lives of workers. Writers: OpenSession, Renew, CloseSession; ReleaseLost ends those of lost
-- workers.
create table belfry.sessions (
	id         text primary key,
	name       text not null,
	namespace  text not null,
	doc        text not null, -- the worker's own words as JSON
	ttl        integer not null,
	started_at integer not null,
	renewed_at integer not null,
	expires_at integer not null,
	ended_at   integer not null default 0,
	lost       integer not null default 0,
	drain      integer not null default 0,
	settled    integer not null default 0, -- ended, and nothing is leased to it any more
	-- The worker reaches the database through nodes alone.
	remote     integer not null default 0,
	-- The token that opened a session; 0: a node's own, which no token acts on.
	token      integer not null default 0
);

create index belfry.sessions_living on belfry.sessions (expires_at) where ended_at = 0;
create index belfry.sessions_of on belfry.sessions (token) where ended_at = 0 and token > 0;
create index belfry.sessions_unsettled on belfry.sessions (id) where ended_at > 0 and settled = 0;
create index belfry.sessions_lost on belfry.sessions (ended_at) where lost > 1; -- a worker is missing: neither closed nor ended by an epoch

-- Leases: a row per job that runs, so that a claim need not touch the row of the job. A job runs
-- if and only if it has one here or in packs. A row leaves together with a change of its job's
-- row, and never alone. Writers: Claim and settling.
create table belfry.leases (
	job_id      integer primary key,
	number      integer not null,
	session     text not null,
	slot_of     text, -- the queue, if it had a limit over all workers at the claim
	claimed_at  integer not null,
	deadline_at integer not null,
	cancel_at   integer not null default 0,
	cancel_note text not null default '',
	-- Number of an attempt's last own heartbeat; null: none came.
	beat        integer,
	-- 1: given to a worker beyond its free slots, and the worker has not yet said
	-- that the job has begun. Of a pack it says that of all its leases.
	ahead       integer not null default 0
) without rowid;

create index belfry.leases_session on belfry.leases (session, number);
create index belfry.leases_slot on belfry.leases (slot_of) where slot_of is not null;

-- The leases of one claim in one row. A pack lasts while nothing but success comes to its jobs:
-- for whatever else is to happen to one of them it is taken apart, and all that still run have a
-- row of leases each. So a job of the list runs or has succeeded, and its row of jobs says which:
-- it is there, or not. Writers: Claim and settling.
create table belfry.packs (
	number     integer primary key, -- of all its leases
	session    text not null,
	queue      text not null, -- of all its jobs
	claimed_at integer not null,
	first_job  integer not null,
	last_job   integer not null,
	living     integer not null, -- how many still run; the row goes with the last
	jobs       text not null, -- all it began with, ascending, with a comma on both ends and between them
	ahead      integer not null default 0,
	limited    integer not null default 0 -- 1: some of its jobs are under keys of limits
);

create index belfry.packs_reach on belfry.packs (last_job, first_job);

-- Tickets of ready jobs, which a broker delivers to workers. A ticket is good for one claim of its job, after the lease that it
-- names as the last one that ended. Writer: the dispatcher of a broker.
create table belfry.tickets (
	job_id      integer primary key,
	lease       integer not null,
	secret_hash text not null,
	queue       text not null,
	made        integer not null,
	next_at     integer not null -- when to ring again, if nobody came
);

create index belfry.tickets_queue on belfry.tickets (queue, next_at);
create index belfry.tickets_next on belfry.tickets (next_at);

-- When nodes could hear workers that reach the database through them. Each life of a node has a
-- row. Writer: each node its own.
create table belfry.listening (
	node  text primary key,
	since integer not null, -- without a gap
	until integer not null
);

-- One row: how often the clock that decides was found set and followed, when it was last looked
-- at, and by how much it was followed, in all and the last time. Writer: FollowClock.
create table belfry.clock (
	shifts  integer not null,
	seen_at integer not null,
	-- By how much the clock was followed in all, and the last of these steps, by the
	-- clock as it was from then on: in microseconds.
	total   bigint not null default 0,
	set_at  bigint not null default 0,
	set_by  bigint not null default 0,
	-- By how much the last steps are followed for what transactions wrote that were under way then: those with a number
	-- from open_from on and below open_to.
	open_by   bigint not null default 0,
	open_from bigint not null default 0,
	open_to   bigint not null default 0
);

insert into belfry.clock (shifts, seen_at) values (0, 0);

-- What is packed as rows of leases. A minute is what a deadline allows beyond
-- the timeout.
create view belfry.packed as
	select j.id as job_id, p.number, p.session, null as slot_of, p.claimed_at, p.claimed_at + j.timeout + 60000000 as deadline_at,
		0 as cancel_at, '' as cancel_note, null as beat, p.ahead
	from belfry.packs p
	cross join json_each('[' || trim(p.jobs, ',') || ']') u
	cross join belfry.jobs j on j.id = u.value;

-- All leases. Here each has its row.
create view belfry.running as
	select job_id, number, session, slot_of, claimed_at, deadline_at, cancel_at, cancel_note, beat, ahead from belfry.leases
	union all
	select job_id, number, session, slot_of, claimed_at, deadline_at, cancel_at, cancel_note, beat, ahead from belfry.packed;

-- Jobs that have not ended, with what their leases add; job_id is null of those
-- that have none.
create view belfry.live as
	select belfry.jobs.*, case when p.number is null then l.job_id else belfry.jobs.id end as job_id, coalesce(l.number, p.number) as number,
		coalesce(l.session, p.session) as session, coalesce(l.claimed_at, p.claimed_at) as claimed_at,
		coalesce(l.deadline_at, p.claimed_at + belfry.jobs.timeout + 60000000) as deadline_at, coalesce(l.cancel_at, 0) as cancel_at,
		coalesce(l.cancel_note, '') as cancel_note, coalesce(l.ahead, p.ahead) as ahead
	from belfry.jobs
	left join belfry.leases l on l.job_id = belfry.jobs.id
	left join belfry.packs p on p.last_job >= belfry.jobs.id and p.first_job <= belfry.jobs.id and instr(p.jobs, ',' || belfry.jobs.id || ',') > 0;

-- History

-- Nominal times of schedules and what was decided for each: a job, or a reason why not. Writers:
-- FireDue, backfills, withdrawals.
create table belfry.occurrences (
	schedule_id integer not null,
	nominal     integer not null,
	until       integer not null default 0,
	count       integer not null default 1,
	decision    text not null,
	reason      text not null default '',
	note        text not null default '',
	job_id      integer not null default 0,
	due_at      integer not null,
	decided_at  integer not null
);

create unique index belfry.occurrences_identity on belfry.occurrences (schedule_id, nominal);
create index belfry.occurrences_buffered on belfry.occurrences (schedule_id, nominal) where decision = 'buffered';
-- Costs something only where a nominal time is skipped.
create index belfry.occurrences_skipped on belfry.occurrences (decided_at) where decision = 'skipped';

-- Jobs that have ended, each with the attempt that ended it. Writers: settling; a retry by hand
-- takes a row back to jobs.
create table belfry.jobs_done (
	seq          integer primary key,
	id           integer not null,
	namespace    text not null,
	task_id      integer not null,
	task         text not null,
	kind         text not null,
	queue        text not null,
	priority     integer not null,
	state        text not null,
	reason       text not null,
	note         text not null,
	error        text not null,
	input        text,
	tags         text not null,
	trigger      text not null,
	schedule     text not null,
	schedule_id  integer not null,
	generation   integer not null,
	nominal      integer not null,
	due_at       integer not null,
	created_at   integer not null,
	claimed_at   integer not null,
	cancel_at    integer not null,
	attempt      integer not null,
	failures     integer not null,
	snoozes      integer not null,
	max_attempts integer not null,
	timeout      integer not null,
	lease        integer not null,
	session      text not null,
	active_key   text,
	idem_key     text not null,
	finished_at  integer not null,
	output       text,
	-- The attempt that ended the job, if one did: outcome is empty otherwise.
	outcome      text not null default '',
	worker       text not null default '',
	started_at   integer not null default 0,
	exit_code    integer,
	signal       text not null default '',
	log_cut      integer not null default 0,
	infra        integer not null default 0,
	limited      integer not null default 0
);

create unique index belfry.jobs_done_id on belfry.jobs_done (id);
create index belfry.jobs_done_finished on belfry.jobs_done (finished_at);
create index belfry.jobs_done_task on belfry.jobs_done (task, id);
create index belfry.jobs_done_schedule on belfry.jobs_done (schedule_id, id) where schedule_id > 0;
-- With what tells a dead job from a trial, and its namespace: each page counts them, without a look at their rows.
create index belfry.jobs_done_failed on belfry.jobs_done (id, namespace, trigger) where state = 'failed';

-- Attempts that did not end their job. The last one is in jobs_done. Writer: settling.
create table belfry.attempts (
	seq        integer primary key,
	job_id     integer not null,
	number     integer not null,
	lease      integer not null,
	session    text not null,
	worker     text not null,
	claimed_at integer not null,
	started_at integer not null,
	ended_at   integer not null,
	outcome    text not null,
	error      text not null,
	exit_code  integer,
	signal     text not null,
	log_cut    integer not null
);

create index belfry.attempts_job on belfry.attempts (job_id);

-- What an attempt says of itself beyond its end. Only programs have a row. Writers: settling and
-- the reports of attempts.
create table belfry.attempt_details (
	seq    integer primary key autoincrement,
	job_id integer not null,
	lease  integer not null,
	at     integer not null,
	doc    text,                     -- how it was kept apart, as JSON
	finish text not null default '', -- digest of the report that settled it, if it reported by itself
	state  text not null default ''  -- what that made of the job
);

create unique index belfry.attempt_details_attempt on belfry.attempt_details (job_id, lease);
create index belfry.attempt_details_at on belfry.attempt_details (at);

-- Pieces of what attempts write. Writer: Append, under the lease.
create table belfry.logs (
	row     integer primary key,
	job_id  integer not null,
	lease   integer not null,
	attempt integer not null,
	seq     integer not null,
	stream  text not null,
	at      integer not null,
	size    integer not null, -- of the text, in bytes
	body    blob not null -- the text, compressed if that is shorter; the first byte says so
);

create unique index belfry.logs_job on belfry.logs (job_id, lease, seq);

-- Steps of jobs that are done and are not done again. Writers: SaveStep, under the lease,
-- ResetSteps, and signals and the ends of jobs, which end waits; housekeeping removes those of jobs that are gone.
create table belfry.steps (
	row      integer primary key,
	job_id   integer not null,
	number   integer not null, -- from 1, without a gap
	name     text not null,
	kind     text not null,
	type     text not null,
	lease    integer not null, -- of the attempt that recorded it
	attempt  integer not null,
	took     integer not null,
	saved_at integer not null,
	wake_at  integer not null, -- of a sleep or a signal: its end; 0: it is none
	ended_at integer not null, -- of a signal or an await: when the wait was over; 0: it is not
	told     integer not null, -- of these: the lease whose attempt was told last that it is not
	child    integer not null, -- of a spawn or an await: the job
	total    integer not null, -- bytes of results of the job, up to this one
	result   text
);

create unique index belfry.steps_job on belfry.steps (job_id, number);
create unique index belfry.steps_name on belfry.steps (job_id, name);
create index belfry.steps_sleeping on belfry.steps (wake_at) where wake_at > 0;
create index belfry.steps_awaiting on belfry.steps (child) where kind = 'await' and ended_at = 0;

-- Signals that were sent to jobs, the first of each name. Writers: SignalJob, and ResetSteps, which
-- forgets those that forgotten steps had taken; housekeeping removes those of jobs that are gone.
create table belfry.signals (
	job_id integer not null,
	name   text not null,
	at     integer not null,
	by     text not null,
	taken  integer not null, -- by the step of its name
	input  text not null,
	primary key (job_id, name)
) without rowid;

-- How far jobs are, as their last attempt says. Writer: SaveProgress, under the lease; housekeeping
-- removes what is of jobs that are gone.
create table belfry.progress (
	job_id   integer primary key,
	lease    integer not null,
	percent  integer not null, -- in hundredths
	message  text not null,
	counters text not null, -- as JSON, or nothing
	at       integer not null,
	-- The first progress under the same lease.
	since    integer not null,
	begun    integer not null -- its percent
);

-- Files that attempts leave. The bytes are elsewhere, by their digest. Writers: the attempts,
-- under their lease.
create table belfry.outputs (
	seq       integer primary key autoincrement,
	job_id    integer not null,
	lease     integer not null,
	name      text not null,
	size      integer not null,
	sha256    text not null,
	at        integer not null,
	confirmed integer not null default 0, -- the report of its attempt names it, and its bytes were there
	-- Bytes belong to the namespace that sent them.
	namespace text not null default ''
);

create unique index belfry.outputs_attempt on belfry.outputs (job_id, lease, name);
create index belfry.outputs_digest on belfry.outputs (sha256);
create index belfry.outputs_at on belfry.outputs (at);
create index belfry.outputs_open on belfry.outputs (at) where confirmed = 0;

-- Cycles

-- Cycles under way: all that is needed to go on. A row leaves with the end of its cycle. Writers:
-- the engine and settling.
create table belfry.cycle_runs (
	job_id         integer primary key,
	task_id        integer not null,
	member_job     integer not null default 0, -- the job of the member that runs
	waits_for_task integer not null default 0, -- the member that another cycle runs now
	started_at     integer not null,
	deadline_at    integer not null, -- when it has run for as long as it may
	doc            text not null
);

create index belfry.cycle_runs_task on belfry.cycle_runs (task_id);
create index belfry.cycle_runs_member on belfry.cycle_runs (member_job) where member_job > 0;
create index belfry.cycle_runs_waiting on belfry.cycle_runs (waits_for_task) where waits_for_task > 0;

-- When members last succeeded, in whatever cycle. Kept for ever. The transaction that advances
-- cycles locks the row of task 0. Writers: the engine, settling, and a reset of timing.
create table belfry.member_timing (
	task_id      integer primary key,
	started_at   integer not null default 0,
	cycle_at     integer not null default 0, -- of the cycle in which that was
	succeeded_at integer not null default 0,
	running_job  integer not null default 0,
	turn_at      integer not null default 0, -- of the run under way
	reset_at     integer not null default 0 -- when a success was forgotten
);

insert into belfry.member_timing (task_id) values (0);

-- Workflows

-- Runs of workflows: all that is needed to go on. A row stays as long as its job. Writers: the engine
-- and settling.
create table belfry.workflow_runs (
	job_id    integer primary key,
	task_id   integer not null,
	namespace text not null,
	due_at    integer not null default 0, -- when to look at it again
	clock     integer not null default 0, -- by how much it was followed when doc was written
	set_by    integer not null default 0, -- by how much due_at has followed it since
	stopping  integer not null default 0, -- jobs of its steps may have to be asked to end
	ended_at  integer not null default 0,
	asked_at  integer not null default 0, -- since when a step waits for an approval
	asked     text not null default '', -- that step, for lists
	plan      text not null, -- what it was begun with
	doc       text not null
);

create index belfry.workflow_runs_due on belfry.workflow_runs (due_at, job_id) where due_at > 0;
create index belfry.workflow_runs_ended on belfry.workflow_runs (ended_at) where ended_at > 0;
create index belfry.workflow_runs_asked on belfry.workflow_runs (asked_at, job_id) where asked_at > 0;
create index belfry.workflow_runs_asked_in on belfry.workflow_runs (namespace, asked_at, job_id) where asked_at > 0;

-- The items of steps: a job each, or a signal that was taken. Writers: as of the runs.
create table belfry.workflow_items (
	run_id     integer not null,
	step       integer not null,
	item       integer not null,
	job_id     integer not null default 0,
	asked      integer not null default 0, -- its job was asked to end
	started_at integer not null default 0,
	ended_at   integer not null default 0,
	attempts   integer not null default 0,
	size       integer not null default 0, -- of the output, in bytes
	state      text not null default '', -- of its job when it ended
	error      text not null default '',
	output     text, -- unless it is larger than what is handed on
	primary key (run_id, step, item)
) without rowid;

create unique index belfry.workflow_items_job on belfry.workflow_items (job_id) where job_id > 0;

-- The inputs of a step's items, a hundred to a row. Writers: as of the runs.
create table belfry.workflow_inputs (
	run_id integer not null,
	step   integer not null,
	chunk  integer not null,
	doc    text not null,
	primary key (run_id, step, chunk)
) without rowid;

-- Signals that were sent to runs. Writers: whoever sends one; the steps that take them.
create table belfry.workflow_signals (
	run_id integer not null,
	name   text not null,
	id     text not null,
	seq    integer not null,
	step   integer not null default -1, -- that has taken it
	at     integer not null,
	doc    text not null,
	primary key (run_id, name, id)
) without rowid;

-- Links that answer a signal to a job, or a signal or approval of a run of a workflow, without a token. Writer: making and
-- taking back links; housekeeping removes those of jobs that are gone.
create table belfry.links (
	secret_hash text primary key,
	job_id      integer not null,
	name        text not null,
	made_for    text not null default '',
	expires_at  integer not null
) without rowid;
create index belfry.links_job on belfry.links (job_id);

-- Programs

-- Programs that were, or are to be, uploaded. The bytes are elsewhere, by their digest; a row is a
-- namespace's right to them, and keeps them from being collected. Writers: uploads; housekeeping
-- removes what nothing needs.
create table belfry.artifacts (
	namespace  text not null,
	sha256     text not null,
	size       integer not null,
	created_at integer not null,
	posted_at  integer not null default 0, -- when its bytes were there and had been compared
	posted_by  text not null default '',
	freed_at   integer not null default 0, -- when a task last let go of it
	primary key (namespace, sha256)
) without rowid;

create index belfry.artifacts_digest on belfry.artifacts (sha256);

-- Bytes that are being removed: uploads that need them wait. Writer: the collection of garbage.
create table belfry.artifact_removals (
	name     text primary key, -- namespace/digest
	begun_at integer not null
);

-- Keys that sign the tokens of attempts. Writer: the first node that needs one.
create table belfry.signing_keys (
	id         text primary key,
	sealed     text not null, -- the seed, and how it is kept
	created_at integer not null
);

-- Monitors

-- Checks with a schedule and a verdict. Writers: saves of monitors; settling of checks, heartbeats
-- and the passing of time move status, state and wake_at.
create table belfry.monitors (
	id          integer primary key,
	namespace   text not null,
	name        text not null,
	kind        text not null,
	tags        text not null default '',
	generation  integer not null,
	doc         text not null,              -- the monitor as JSON, without its state
	schedule_id integer not null default 0, -- 0: a heartbeat
	beat_key    text,                       -- of a heartbeat's URL
	beat_digest text,                       -- of a token of another tool that it takes too
	status      text not null,
	state       text not null,              -- as JSON
	wake_at     integer not null default 0, -- when time alone changes something; 0: never
	created_at  integer not null,
	updated_at  integer not null,
	title      text not null default '', -- as people write it
	sought     text not null default '', -- the title as searches look for it, whatever its case
	unique (namespace, name)
);

create unique index belfry.monitors_schedule on belfry.monitors (schedule_id) where schedule_id > 0;
create unique index belfry.monitors_beat on belfry.monitors (beat_key) where beat_key is not null;
create unique index belfry.monitors_digest on belfry.monitors (beat_digest) where beat_digest is not null;
create index belfry.monitors_wake on belfry.monitors (wake_at) where wake_at > 0;
create index belfry.monitors_status on belfry.monitors (status);

-- What checks saw, an hour after the other, so that one hour is rolled up without a look at
-- others, and old hours leave from the front. What was as it should be has no detail. Writer:
-- settling of checks.
create table belfry.results (
	hour        integer not null, -- of at, since 1970
	monitor_id  integer not null,
	at          integer not null,
	outcome     text not null,
	code        text not null default '',
	latency     integer not null default 0,
	dns         integer not null default 0,
	connect     integer not null default 0,
	tls         integer not null default 0,
	first_byte  integer not null default 0,
	transfer    integer not null default 0,
	queue_delay integer not null default 0,
	status      integer not null default 0,
	starved     integer not null default 0,
	job_id      integer not null default 0,
	detail      text,
	primary key (hour, monitor_id, at)
) without rowid;

-- Hours and days of results. Days stay for ever. Writer: RollUp.
create table belfry.rollups (
	monitor_id integer not null,
	span       integer not null, -- seconds: 3600 or 86400
	at         integer not null,
	ok         integer not null,
	degraded   integer not null,
	fail       integer not null,
	error      integer not null,
	total      integer not null, -- of latencies, microseconds
	least      integer not null,
	most       integer not null,
	latency    text not null,    -- a histogram in base64
	primary key (monitor_id, span, at)
) without rowid;

create index belfry.rollups_span on belfry.rollups (span, at);

-- One row: how far results were rolled up. Writer: RollUp.
create table belfry.rolled (
	hour integer not null, -- the next to be rolled up; 0: none was
	day  integer not null
);

insert into belfry.rolled (hour, day) values (0, 0);

-- The timeline of a monitor: what held from an instant on. Kept for ever. Writer: settling of
-- checks.
create table belfry.spans (
	monitor_id integer not null,
	at         integer not null,
	state      text not null,
	cause      text not null default '',
	primary key (monitor_id, at)
) without rowid;

-- Outages of monitors. Kept for ever. Writer: settling of checks; people move acknowledged and
-- assigned.
create table belfry.incidents (
	id           integer primary key autoincrement,
	namespace    text not null,
	monitor_id   integer not null,
	monitor      text not null,
	started_at   integer not null,
	ended_at     integer not null default 0,
	ended_by     text not null default '',
	doc          text not null,
	acknowledged text not null default '', -- by whom, when and why, as JSON
	assignee     text not null default '',
	assigned     text not null default ''  -- all assignments, as JSON
);

create index belfry.incidents_monitor on belfry.incidents (monitor_id, id);
create index belfry.incidents_open on belfry.incidents (id) where ended_at = 0;
create index belfry.incidents_assignee on belfry.incidents (assignee, id) where assignee <> '';

-- What people wrote about incidents, kept as long as they are. Writer: people.
create table belfry.incident_updates (
	incident_id integer not null,
	seq         integer not null,
	at          integer not null,
	actor       text not null,
	state       text not null,
	text        text not null,
	public      integer not null,
	primary key (incident_id, seq)
) without rowid;

-- What people announce on status pages, which are documents. Writers: people. A page's go with it.
create table belfry.announcements (
	id         integer primary key autoincrement,
	page_id    integer not null,
	generation integer not null,
	actor      text not null,
	created_at integer not null,
	updated_at integer not null,
	until_at   integer not null, -- 0: until a person ends it
	doc        text not null
);

create index belfry.announcements_page on belfry.announcements (page_id, id);

-- Subscribers of status pages, which are documents. Writers: visitors, and the sender where a webhook
-- confirms. A page's go with it.
create table belfry.subscribers (
	id           integer primary key autoincrement,
	page_id      integer not null,
	namespace    text not null,
	page         text not null,
	kind         text not null,
	state        text not null,
	hash         text not null, -- of the address
	key_hash     text not null unique, -- of the key of its links
	created_at   integer not null,
	confirmed_at integer not null default 0,
	doc          text not null, -- address and key, sealed
	unique (page_id, hash)
);

create index belfry.subscribers_told on belfry.subscribers (namespace, page_id) where state = 'confirmed';
create index belfry.subscribers_pending on belfry.subscribers (created_at) where state = 'pending';

-- That an address was sent a confirming message, for a day. Writer: visitors.
create table belfry.subscription_asks (
	hash    text not null,
	page_id integer not null,
	at      integer not null
);

create index belfry.subscription_asks_hash on belfry.subscription_asks (hash, at);
create index belfry.subscription_asks_page on belfry.subscription_asks (page_id, at);
create index belfry.subscription_asks_at on belfry.subscription_asks (at);

-- Versions of watched pages. Writer: settling of checks.
create table belfry.page_versions (
	monitor_id integer not null,
	seq        integer not null,
	digest     text not null,
	at         integer not null,
	doc        text not null,
	primary key (monitor_id, seq)
) without rowid;

-- Their texts, each once. Writer: settling of checks.
create table belfry.page_texts (
	monitor_id integer not null,
	digest     text not null,
	text       blob not null, -- compressed
	primary key (monitor_id, digest)
) without rowid;

-- Notifications to send: written with what happened, in one transaction. Writers: settling; the
-- sender moves state, due_at and taken_until.
create table belfry.alerts (
	id           integer primary key autoincrement,
	namespace    text not null,
	channel      text not null,
	rule         text not null,
	type         text not null,
	monitor_id   integer not null default 0,
	incident_id  integer not null default 0,
	notification text not null,
	state        text not null,
	reason       text not null default '',
	created_at   integer not null,
	due_at       integer not null,
	taken_until  integer not null default 0, -- a node is telling it
	ended_at     integer not null default 0,
	tries        integer not null default 0,
	message      text not null default ''
);

create index belfry.alerts_pending on belfry.alerts (due_at) where state = 'pending';
create index belfry.alerts_channel on belfry.alerts (namespace, channel, id) where state = 'pending';
create index belfry.alerts_incident on belfry.alerts (incident_id, channel) where incident_id > 0;
create index belfry.alerts_monitor on belfry.alerts (monitor_id, channel, id) where monitor_id > 0;

-- Attempts to send. Writer: the sender.
create table belfry.alert_tries (
	id        integer primary key autoincrement,
	namespace text not null,
	channel   text not null,
	message   text not null,
	at        integer not null,
	took      integer not null,
	alerts    integer not null,
	error     text not null,
	final     integer not null
);

create index belfry.alert_tries_message on belfry.alert_tries (message);

-- Hooks: how the deliveries of each are going. Writers: a save of its definition (SaveHook, PauseHook, apply), and whoever
-- delivers.
create table belfry.hooks (
	id            integer primary key, -- of its document
	namespace     text not null,
	name          text not null,
	paused        integer not null default 0,
	pull          integer not null default 0, -- it has no URL: programs ask for its events
	last_seq      integer not null default 0, -- of a pulled hook: events that have their place in its order
	acked         integer not null default 0, -- and up to where they are acknowledged
	due_at        integer not null default 0, -- no delivery before
	taken_until   integer not null default 0, -- a node is delivering
	tries         integer not null default 0, -- that failed, one after the other
	failing_at    integer not null default 0, -- the first of them; says nothing without one
	disabled_at   integer not null default 0,
	reason        text not null default '', -- what the last try said
	sent_at       integer not null default 0, -- last delivery
	dropped       integer not null default 0  -- events that were never delivered
);

create unique index belfry.hooks_name on belfry.hooks (namespace, name);

-- One row: the version of all hooks together. A transaction that finds the version that it knows reads no hook. Writer:
-- each change of a hook.
create table belfry.hook_version (
	version integer not null
);

insert into belfry.hook_version (version) values (1);

-- Events that hooks get, a row for each hook: written with what happened, in one transaction. Writers: whatever happens;
-- whoever delivers moves sent_at; a replay sets it back; whoever pulls gives seq.
create table belfry.hook_events (
	id      integer primary key autoincrement,
	hook_id integer not null,
	type    text not null,
	at      integer not null,
	sent_at integer not null default 0,
	seq     integer not null default 0, -- place in the order of a pulled hook, given when it is asked for
	event   text not null
);

-- The columns that are constant in it have SQLite prefer it to that of all events of a hook.
create index belfry.hook_events_pending on belfry.hook_events (hook_id, seq, sent_at, id) where sent_at = 0 and seq = 0;
create unique index belfry.hook_events_seq on belfry.hook_events (hook_id, seq) where seq > 0;
create index belfry.hook_events_hook on belfry.hook_events (hook_id, id);
create index belfry.hook_events_at on belfry.hook_events (at);

-- Attempts to deliver. Writer: whoever delivers.
create table belfry.hook_tries (
	id       integer primary key autoincrement,
	hook_id  integer not null,
	delivery text not null,
	at       integer not null,
	took     integer not null,
	events   integer not null,
	first_id integer not null,
	last_id  integer not null,
	error    text not null
);

create index belfry.hook_tries_hook on belfry.hook_tries (hook_id, id);
create index belfry.hook_tries_at on belfry.hook_tries (at);

-- Access

-- Rights of programs and people, by the hash of their secret. Writers: CreateToken, RevokeToken,
-- and joins of machines; use of a token moves last_used_at.
create table belfry.tokens (
	id           integer primary key,
	name         text not null,
	namespace    text not null,
	scopes       text not null,
	hash         text not null unique,
	expires_at   integer not null,
	created_at   integer not null,
	created_by   text not null,
	last_used_at integer not null default 0,
	revoked_at   integer not null default 0,
	-- Labels that workers get by the token that they use, as JSON.
	labels       text not null default 'null'
);

-- Rights to get tokens for workers. Writers: the transitions that create and revoke them, and
-- joins of machines.
create table belfry.join_tokens (
	id           integer primary key,
	name         text not null,
	namespace    text not null,
	labels       text not null, -- as JSON
	hash         text not null unique,
	uses         integer not null, -- how many machines may join
	used         integer not null default 0,
	expires_at   integer not null,
	created_at   integer not null,
	created_by   text not null,
	last_used_at integer not null default 0,
	revoked_at   integer not null default 0
);

-- People who are signed in to the pages. Writer: the console.
create table belfry.web_sessions (
	hash       text primary key, -- of the key in the cookie
	sealed     blob not null, -- the token's secret, which only that key opens
	created_at integer not null,
	seen_at    integer not null,
	expires_at integer not null
);

create index belfry.web_sessions_end on belfry.web_sessions (expires_at);

-- Changes by people and programs, with actor, time, and state before and after. Writer: each
-- transition that changes a definition or acts on a job.
create table belfry.audit (
	seq       integer primary key autoincrement,
	at        integer not null,
	namespace text not null,
	actor     text not null,
	action    text not null,
	noun      text not null,
	name      text not null,
	note      text not null,
	before    text,
	after     text
);

create index belfry.audit_thing on belfry.audit (noun, name, seq);
create index belfry.audit_at on belfry.audit (at);
create index belfry.audit_actor on belfry.audit (actor, seq);

-- Rates and counts

-- Finished jobs by minute, for rates of the last hours. Kept for two days. Writer: RollUp.
create table belfry.job_minutes (
	minute    integer not null, -- since 1970
	namespace text not null,
	queue     text not null,
	ok        integer not null,
	failed    integer not null,
	canceled  integer not null,
	skipped   integer not null,
	ran       integer not null, -- microseconds from claim to end, added up
	started   integer not null, -- jobs that were claimed
	lag       integer not null, -- microseconds from due to claim, added up
	lag_most  integer not null,
	primary key (minute, namespace, queue)
) without rowid;

-- How many jobs waited and ran in queues, by the minute, and the most of it by the hour. Nothing is written for a queue
-- in which nothing did. Namespace * is all together. Writer: SampleQueues.
create table belfry.queue_samples (
	queue     text not null,
	namespace text not null,
	span      integer not null, -- seconds: 60 or 3600
	at        integer not null,
	ready     integer not null,
	more      integer not null, -- 1: there were more than were counted
	oldest    integer not null, -- microseconds that the oldest had waited
	running   integer not null,
	primary key (queue, namespace, span, at)
) without rowid;

create index belfry.queue_samples_at on belfry.queue_samples (span, at);

-- When a sample of all queues was taken. Writer: SampleQueues.
create table belfry.sampled (
	span integer not null,
	at   integer not null,
	more integer not null, -- 1: there were more lines than were counted
	primary key (span, at)
) without rowid;

-- What became of a schedule's runs, by nominal day in its zone. Outlives the jobs. In the order of days, so
-- that what is written lies together. Writer: RollUp.
create table belfry.schedule_days (
	day         integer not null, -- since 1970
	schedule_id integer not null,
	ok          integer not null,
	failed      integer not null,
	canceled    integer not null,
	skipped     integer not null, -- nominal times without a run too
	ran         integer not null, -- microseconds from claim to end, added up
	primary key (day, schedule_id)
) without rowid;

-- What became of a task's jobs, by the day in UTC on which they ended. Checks of monitors are not counted.
-- Outlives the jobs. Writer: RollUp.
create table belfry.task_days (
	day      integer not null, -- since 1970
	task_id  integer not null,
	ok       integer not null,
	failed   integer not null,
	canceled integer not null,
	skipped  integer not null,
	ran      integer not null, -- microseconds from claim to end, added up
	primary key (day, task_id)
) without rowid;

-- One row: how far finished jobs were rolled up. Writer: RollUp.
create table belfry.rolled_jobs (
	minute integer not null, -- the next; 0: none was
	after  integer not null  -- and of it, up to which schedule
);

insert into belfry.rolled_jobs (minute, after) values (0, 0);
