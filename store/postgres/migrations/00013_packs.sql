-- +goose Up

-- The leases of one claim in one row. A pack lasts while nothing but success
-- comes to its jobs: for whatever else is to happen to one of them it is taken
-- apart, and all that still run have a row of leases each. So a job of the list
-- runs or has succeeded, and its row of jobs says which: it is there, or not.
create table packs (
	number     bigint primary key, -- of all its leases
	session    text not null,
	claimed_at bigint not null,
	first_job  bigint not null,
	last_job   bigint not null,
	living     bigint not null, -- how many still run; the row goes with the last
	jobs       bigint[] not null -- all it began with, ascending
);

create index packs_session on packs (session);
create index packs_reach on packs (last_job);
create index packs_claimed on packs (claimed_at);

-- Beside the row, and as it is: the count changes often, the list never.
alter table packs alter column jobs set storage external;
alter table packs set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000, autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 2000);

-- What is packed as rows of leases. A minute is what a deadline allows beyond
-- the timeout.
create view packed as
	select j.id as job_id, p.number, p.session, null::text as slot_of, p.claimed_at, p.claimed_at + j.timeout + 60000000 as deadline_at,
		0::bigint as cancel_at, ''::text as cancel_note, null::bigint as beat
	from packs p
	cross join lateral unnest(p.jobs) as u (id)
	join jobs j on j.id = u.id;

-- All leases, in whichever form.
create view running as
	select job_id, number, session, slot_of, claimed_at, deadline_at, cancel_at, cancel_note, beat from leases
	union all
	select job_id, number, session, slot_of, claimed_at, deadline_at, cancel_at, cancel_note, beat from packed;

-- Jobs that have not ended, with what their leases add; job_id is null of those
-- that have none. A pack is looked into for what lies in its reach, which for a
-- list is cheaper than to take all packs apart.
create view live as
	select jobs.*, case when p.number is null then l.job_id else jobs.id end as job_id, coalesce(l.number, p.number) as number,
		coalesce(l.session, p.session) as session, coalesce(l.claimed_at, p.claimed_at) as claimed_at,
		coalesce(l.deadline_at, p.claimed_at + jobs.timeout + 60000000) as deadline_at, coalesce(l.cancel_at, 0) as cancel_at,
		coalesce(l.cancel_note, '') as cancel_note
	from jobs
	left join leases l on l.job_id = jobs.id
	left join packs p on p.last_job >= jobs.id and p.first_job <= jobs.id and jobs.id = any (p.jobs);

-- Those of some jobs that nobody has leased. The caller holds the locks on
-- their rows. Being volatile, it looks at what was committed by now, which the
-- caller's statement, begun before it got the locks, does not.
-- +goose StatementBegin
create function unleased(ids bigint[]) returns setof bigint language plpgsql volatile as $$
declare
	low bigint := (select min(id) from unnest(ids) as t (id));
	high bigint := (select max(id) from unnest(ids) as t (id));
begin
	return query
		select t.id
		from unnest(ids) as t (id)
		where (select l.number from leases l where l.job_id = t.id) is null
			and t.id not in (select unnest(p.jobs) from packs p where p.last_job >= low and p.first_job <= high);
end
$$;
-- +goose StatementEnd
