-- +goose Up

-- All leases. Here each has its row.
create view running as
	select job_id, number, session, slot_of, claimed_at, deadline_at, cancel_at, cancel_note, beat
	from leases;

-- Jobs that have not ended, with what their leases add; job_id is null of those
-- that have none.
create view live as
	select jobs.*, l.job_id, l.number, l.session, l.claimed_at, l.deadline_at, l.cancel_at, l.cancel_note
	from jobs
	left join leases l on l.job_id = jobs.id;
