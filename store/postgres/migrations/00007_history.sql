-- +goose Up

-- Finished jobs by minute, for rates of the last hours. Kept for two days.
create table job_minutes (
	minute    bigint not null, -- since 1970
	namespace text not null,
	queue     text not null,
	ok        bigint not null,
	failed    bigint not null,
	canceled  bigint not null,
	skipped   bigint not null,
	ran       bigint not null, -- microseconds from claim to end, added up
	started   bigint not null, -- jobs that were claimed
	lag       bigint not null, -- microseconds from due to claim, added up
	lag_most  bigint not null,
	primary key (minute, namespace, queue)
);

-- What became of a schedule's runs, by day in UTC. Outlives the jobs. In the
-- order of days, so that what is written lies together.
create table schedule_days (
	day         bigint not null, -- since 1970
	schedule_id bigint not null,
	ok          bigint not null,
	failed      bigint not null,
	canceled    bigint not null,
	skipped     bigint not null, -- nominal times without a run too
	ran         bigint not null, -- microseconds from claim to end, added up
	primary key (day, schedule_id)
);

-- One row: how far finished jobs were rolled up.
create table rolled_jobs (
	minute bigint not null, -- the next; 0: none was
	after  bigint not null  -- and of it, up to which schedule
);

insert into rolled_jobs (minute, after) values (0, 0);

-- Costs something only where a nominal time is skipped.
create index occurrences_skipped on occurrences (decided_at) where decision = 'skipped';

-- Jobs that were made from finished ones.
create table reruns (
	job_id bigint primary key,
	of_id  bigint not null,
	at     bigint not null
);

create index reruns_of on reruns (of_id);

create index audit_at on audit (at);
create index audit_actor on audit (actor, seq);
