-- +goose Up

-- Cycles under way: all that is needed to go on. A row leaves with the end of
-- its cycle.
create table cycle_runs (
	job_id         bigint primary key,
	task_id        bigint not null,
	member_job     bigint not null default 0, -- the job of the member that runs
	waits_for_task bigint not null default 0, -- the member that another cycle runs now
	doc            text not null
);

create index cycle_runs_task on cycle_runs (task_id);
create index cycle_runs_member on cycle_runs (member_job) where member_job > 0;
create index cycle_runs_waiting on cycle_runs (waits_for_task) where waits_for_task > 0;

-- When members last succeeded, in whatever cycle. Kept for ever.
create table member_timing (
	task_id      bigint primary key,
	started_at   bigint not null default 0,
	cycle_at     bigint not null default 0, -- of the cycle in which that was
	succeeded_at bigint not null default 0,
	running_job  bigint not null default 0,
	turn_at      bigint not null default 0 -- of the run under way
);

create index jobs_cycles on jobs (ready_at) where kind = 'cycle' and state = 'ready';

-- Who takes cycles further holds this row meanwhile.
insert into member_timing (task_id) values (0);
