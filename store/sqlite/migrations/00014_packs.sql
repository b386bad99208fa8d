-- +goose Up

-- The leases of one claim in one row. A pack lasts while nothing but success
-- comes to its jobs: for whatever else is to happen to one of them it is taken
-- apart, and all that still run have a row of leases each. So a job of the list
-- runs or has succeeded, and its row of jobs says which: it is there, or not.
create table packs (
	number     integer primary key, -- of all its leases
	session    text not null,
	queue      text not null, -- of all its jobs
	claimed_at integer not null,
	first_job  integer not null,
	last_job   integer not null,
	living     integer not null, -- how many still run; the row goes with the last
	jobs       text not null -- all it began with, ascending, with a comma on both ends and between them
);

create index packs_reach on packs (last_job, first_job);

-- What is packed as rows of leases. A minute is what a deadline allows beyond
-- the timeout.
create view packed as
	select j.id as job_id, p.number, p.session, null as slot_of, p.claimed_at, p.claimed_at + j.timeout + 60000000 as deadline_at,
		0 as cancel_at, '' as cancel_note, null as beat
	from packs p
	cross join json_each('[' || trim(p.jobs, ',') || ']') u
	cross join jobs j on j.id = u.value;

-- All leases, in whichever form.
drop view running;
create view running as
	select job_id, number, session, slot_of, claimed_at, deadline_at, cancel_at, cancel_note, beat from leases
	union all
	select job_id, number, session, slot_of, claimed_at, deadline_at, cancel_at, cancel_note, beat from packed;

-- Jobs that have not ended, with what their leases add; job_id is null of those
-- that have none. A pack is looked into for what lies in its reach.
drop view live;
create view live as
	select jobs.*, case when p.number is null then l.job_id else jobs.id end as job_id, coalesce(l.number, p.number) as number,
		coalesce(l.session, p.session) as session, coalesce(l.claimed_at, p.claimed_at) as claimed_at,
		coalesce(l.deadline_at, p.claimed_at + jobs.timeout + 60000000) as deadline_at, coalesce(l.cancel_at, 0) as cancel_at,
		coalesce(l.cancel_note, '') as cancel_note
	from jobs
	left join leases l on l.job_id = jobs.id
	left join packs p on p.last_job >= jobs.id and p.first_job <= jobs.id and instr(p.jobs, ',' || jobs.id || ',') > 0;
