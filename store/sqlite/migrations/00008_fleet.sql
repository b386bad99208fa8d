-- +goose Up

-- What tasks need of a worker beyond its kind, each demand once.
create table demands (
	id   integer primary key,
	text text not null unique, -- the demand in one line
	doc  text not null         -- as JSON
);

alter table tasks add column demand integer not null default 0; -- 0: any worker will do
alter table jobs add column demand integer not null default 0;  -- of its task

-- Attempts that the machine spoiled, and that count apart from failures.
alter table jobs add column infra integer not null default 0;
alter table jobs_done add column infra integer not null default 0;
