-- +goose Up

-- What tasks need of a worker beyond its kind, each demand once.
create table demands (
	id   bigint primary key,
	text text not null unique, -- the demand in one line
	doc  text not null         -- as JSON
);

alter table tasks add column demand bigint not null default 0; -- 0: any worker will do
alter table jobs add column demand bigint not null default 0;  -- of its task

-- Attempts that the machine spoiled, and that count apart from failures.
alter table jobs add column infra bigint not null default 0;
alter table jobs_done add column infra bigint not null default 0;

-- What an attempt says of itself beyond its end. Only programs have a row.
create table attempt_details (
	seq    bigint generated always as identity primary key,
	job_id bigint not null,
	lease  bigint not null,
	at     bigint not null,
	doc    text,                     -- how it was kept apart, as JSON
	finish text not null default '', -- digest of the report that settled it, if it reported by itself
	state  text not null default ''  -- what that made of the job
);

create unique index attempt_details_attempt on attempt_details (job_id, lease);
create index attempt_details_at on attempt_details (at);

-- Files that attempts leave. The bytes are elsewhere, by their digest.
create table outputs (
	seq       bigint generated always as identity primary key,
	job_id    bigint not null,
	lease     bigint not null,
	name      text not null,
	size      bigint not null,
	sha256    text not null,
	at        bigint not null,
	confirmed bigint not null default 0 -- the report of its attempt names it, and its bytes were there
);

create unique index outputs_attempt on outputs (job_id, lease, name);
create index outputs_digest on outputs (sha256);
create index outputs_at on outputs (at);
create index outputs_open on outputs (at) where confirmed = 0;

-- Number of an attempt's last own heartbeat; null: none came.
alter table leases add column beat bigint;

-- Keys that sign the tokens of attempts.
create table signing_keys (
	id         text primary key,
	sealed     text not null, -- the seed, and how it is kept
	created_at bigint not null
);

-- Jobs that a broker rings for. A ticket is good for one claim of its job,
-- after the lease that it names as the last one that ended.
create table tickets (
	job_id      bigint primary key,
	lease       bigint not null,
	secret_hash text not null,
	queue       text not null,
	rings       bigint not null,
	next_at     bigint not null -- when to ring again, if nobody came
);

create index tickets_queue on tickets (queue, next_at);
create index tickets_next on tickets (next_at);
