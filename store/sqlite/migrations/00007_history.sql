-- +goose Up

-- Finished jobs by minute, for rates of the last hours. Kept for two days.
create table job_minutes (
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

-- What became of a schedule's runs, by day in UTC. Outlives the jobs. In the
-- order of days, so that what is written lies together.
create table schedule_days (
	day         integer not null, -- since 1970
	schedule_id integer not null,
	ok          integer not null,
	failed      integer not null,
	canceled    integer not null,
	skipped     integer not null, -- nominal times without a run too
	ran         integer not null, -- microseconds from claim to end, added up
	primary key (day, schedule_id)
) without rowid;

-- One row: how far finished jobs were rolled up.
create table rolled_jobs (
	minute integer not null, -- the next; 0: none was
	after  integer not null  -- and of it, up to which schedule
);

insert into rolled_jobs (minute, after) values (0, 0);

-- Costs something only where a nominal time is skipped.
create index occurrences_skipped on occurrences (decided_at) where decision = 'skipped';

-- Jobs that were made from finished ones.
create table reruns (
	job_id integer primary key,
	of_id  integer not null,
	at     integer not null
) without rowid;

create index reruns_of on reruns (of_id);

create index audit_at on audit (at);
create index audit_actor on audit (actor, seq);
