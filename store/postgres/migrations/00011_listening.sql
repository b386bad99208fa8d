-- +goose Up

-- Since when no task and no job needs it; 0: one does, or nobody has looked.
alter table demands add column idle_at bigint not null default 0;

create index tasks_demand on tasks (demand) where demand > 0;
create index jobs_demand on jobs (demand) where demand > 0;

-- The worker reaches the database through nodes alone.
alter table sessions add column remote bigint not null default 0;

-- When nodes could hear workers that reach the database through them. Each life of a node has a row.
create table listening (
	node  text primary key,
	since bigint not null, -- without a gap
	until bigint not null
);
