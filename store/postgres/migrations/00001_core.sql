-- +goose Up

-- Times are microseconds since 1970 in UTC; 0 stands for none.

create sequence ids_job;
create sequence ids_lease;
create sequence ids_definition;

create table queues (
	name          text primary key,
	description   text not null default '',
	priority      integer not null default 0,
	concurrency   integer not null,
	global_limit  integer not null default 0,
	paused_at     bigint not null default 0,
	paused_by     text not null default '',
	paused_reason text not null default '',
	created_at    bigint not null,
	updated_at    bigint not null
);

create table tasks (
	id         bigint primary key,
	namespace  text not null,
	name       text not null,
	kind       text not null,
	queue      text not null,
	tags       text not null default '',
	generation bigint not null,
	doc        text not null, -- the task as JSON, without its history
	created_at bigint not null,
	updated_at bigint not null,
	unique (namespace, name)
);

create index tasks_queue on tasks (queue);

create table schedules (
	id            bigint primary key,
	namespace     text not null,
	name          text not null,
	task_id       bigint not null,
	doc           text not null, -- the schedule as JSON, without its state
	state         text not null,
	generation    bigint not null,
	next_at       bigint not null, -- 0: nothing to do by itself
	high_water    bigint not null,
	finish_at     bigint not null,
	runs          bigint not null,
	paused_at     bigint not null default 0,
	paused_by     text not null default '',
	paused_reason text not null default '',
	created_at    bigint not null,
	updated_at    bigint not null,
	unique (namespace, name)
);

create index schedules_due on schedules (next_at) where next_at > 0;
create index schedules_task on schedules (task_id);

create table occurrences (
	schedule_id bigint not null,
	nominal     bigint not null,
	until       bigint not null default 0,
	count       integer not null default 1,
	decision    text not null,
	reason      text not null default '',
	note        text not null default '',
	job_id      bigint not null default 0,
	due_at      bigint not null,
	decided_at  bigint not null
) partition by range (nominal);

create unique index occurrences_identity on occurrences (schedule_id, nominal);
create index occurrences_buffered on occurrences (schedule_id, nominal) where decision = 'buffered';

-- Jobs that have not ended. A job that ends moves to jobs_done, so what is
-- looked at every time stays small.
create table jobs (
	id           bigint primary key,
	namespace    text not null,
	task_id      bigint not null,
	task         text not null,
	kind         text not null,
	queue        text not null,
	priority     integer not null,
	state        text not null,
	reason       text not null default '',
	note         text not null default '',
	error        text not null default '',
	input        text,
	tags         text not null default '',
	origin       text not null,
	schedule     text not null default '',
	schedule_id  bigint not null default 0,
	generation   bigint not null default 0,
	nominal      bigint not null default 0,
	due_at       bigint not null,
	ready_at     bigint not null default 0, -- since when it may be claimed; 0: not yet
	created_at   bigint not null,
	attempt      integer not null default 0,
	failures     integer not null default 0,
	snoozes      integer not null default 0,
	max_attempts integer not null,
	timeout      bigint not null,
	lease        bigint not null default 0, -- the last that ended
	active_key   text,
	idem_key     text not null default ''
);

create index jobs_ready on jobs (queue, priority desc, ready_at, id) where state = 'ready';
create index jobs_scheduled on jobs (due_at) where state = 'scheduled';
create index jobs_schedule on jobs (schedule_id) where schedule_id > 0;
create unique index jobs_active_key on jobs (namespace, active_key) where active_key is not null;

-- Who runs what: a row per job under a lease, so that a claim need not touch
-- the row of the job. A job runs if and only if it has one. It leaves together
-- with a change of its job's row, and never alone.
create table leases (
	job_id      bigint primary key,
	number      bigint not null,
	session     text not null,
	slot_of     text, -- the queue, if it had a limit over all workers at the claim
	claimed_at  bigint not null,
	deadline_at bigint not null,
	cancel_at   bigint not null default 0,
	cancel_note text not null default ''
);

create index leases_session on leases (session, number);
create index leases_slot on leases (slot_of) where slot_of is not null;

create table jobs_done (
	id           bigint not null,
	namespace    text not null,
	task_id      bigint not null,
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
	origin       text not null,
	schedule     text not null,
	schedule_id  bigint not null,
	generation   bigint not null,
	nominal      bigint not null,
	due_at       bigint not null,
	created_at   bigint not null,
	claimed_at   bigint not null,
	cancel_at    bigint not null,
	attempt      integer not null,
	failures     integer not null,
	snoozes      integer not null,
	max_attempts integer not null,
	timeout      bigint not null,
	lease        bigint not null,
	session      text not null,
	active_key   text,
	idem_key     text not null,
	finished_at  bigint not null,
	output       text,
	-- The attempt that ended the job, if one did: outcome is empty otherwise.
	outcome      text not null default '',
	worker       text not null default '',
	started_at   bigint not null default 0,
	exit_code    integer,
	signal       text not null default '',
	log_cut      bigint not null default 0
) partition by range (finished_at);

create index jobs_done_id on jobs_done (id);
create index jobs_done_finished on jobs_done (finished_at);
create index jobs_done_task on jobs_done (task, id);
create index jobs_done_schedule on jobs_done (schedule_id, id) where schedule_id > 0;
create index jobs_done_failed on jobs_done (id) where state = 'failed';

-- Attempts that did not end their job. The last one stands in jobs_done.
create table attempts (
	job_id     bigint not null,
	number     integer not null,
	lease      bigint not null,
	session    text not null,
	worker     text not null,
	claimed_at bigint not null,
	started_at bigint not null,
	ended_at   bigint not null,
	outcome    text not null,
	error      text not null,
	exit_code  integer,
	signal     text not null,
	log_cut    bigint not null
) partition by range (ended_at);

create index attempts_job on attempts (job_id);

create table logs (
	job_id  bigint not null,
	lease   bigint not null,
	attempt integer not null,
	seq     bigint not null,
	stream  text not null,
	at      bigint not null,
	text    text not null
) partition by range (at);

create index logs_job on logs (job_id, lease, seq);

create table job_keys (
	namespace  text not null,
	name       text not null,
	job_id     bigint not null,
	expires_at bigint not null,
	primary key (namespace, name)
);

create index job_keys_expiry on job_keys (expires_at);

create table sessions (
	id         text primary key,
	name       text not null,
	namespace  text not null,
	doc        text not null, -- the worker's own words as JSON
	ttl        bigint not null,
	started_at bigint not null,
	renewed_at bigint not null,
	expires_at bigint not null,
	ended_at   bigint not null default 0,
	lost       bigint not null default 0,
	drain      bigint not null default 0,
	settled    bigint not null default 0 -- ended, and nothing is leased to it any more
);

create index sessions_living on sessions (expires_at) where ended_at = 0;
create index sessions_unsettled on sessions (id) where ended_at > 0 and settled = 0;

-- One row: how often the clock that decides was found set and followed, and
-- when it was last looked at.
create table clock (
	shifts  bigint not null,
	seen_at bigint not null
);

insert into clock (shifts, seen_at) values (0, 0);

create table tokens (
	id           bigint primary key,
	name         text not null,
	namespace    text not null,
	scopes       text not null,
	hash         text not null unique,
	expires_at   bigint not null,
	created_at   bigint not null,
	created_by   text not null,
	last_used_at bigint not null default 0,
	revoked_at   bigint not null default 0
);

create table audit (
	seq       bigint generated always as identity primary key,
	at        bigint not null,
	namespace text not null,
	actor     text not null,
	action    text not null,
	noun      text not null,
	name      text not null,
	note      text not null,
	before    text,
	after     text
);

create index audit_thing on audit (noun, name, seq);

-- History lies in partitions of a day, which leave by drop. What falls into no
-- day that was prepared goes to the rest.
create table occurrences_rest partition of occurrences default;
create table jobs_done_rest partition of jobs_done default;
create table attempts_rest partition of attempts default;
create table logs_rest partition of logs default;

-- Rows of jobs and leases live for seconds: vacuum by number and not by share,
-- and fast. Without any limit it would take a core for nothing while a long
-- transaction keeps what is dead from being removed.
alter table jobs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000, autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 2000);
alter table leases set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000, autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 2000);
alter table sessions set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
alter table schedules set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
