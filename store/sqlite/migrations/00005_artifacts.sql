-- +goose Up

-- Programs that were, or are to be, uploaded. The bytes are elsewhere, by their
-- digest, and shared by namespaces; a row is a namespace's right to them, and
-- what keeps them from being collected.
create table artifacts (
	namespace  text not null,
	sha256     text not null,
	size       integer not null,
	created_at integer not null,
	posted_at  integer not null default 0, -- when its bytes were there and had been compared
	posted_by  text not null default '',
	freed_at   integer not null default 0, -- when a task last let go of it
	primary key (namespace, sha256)
) without rowid;

create index artifacts_digest on artifacts (sha256);

-- The artifact that a task runs, or nothing.
alter table tasks add column artifact text not null default '';

create index tasks_artifact on tasks (namespace, artifact) where artifact <> '';

-- Jobs that wait for an upload.
create index jobs_uploads on jobs (task_id) where kind = 'program' and state = 'waiting';

-- Bytes that somebody is removing now: whoever would rely on them waits.
create table artifact_removals (
	sha256   text primary key,
	begun_at integer not null
);

create table secrets (
	namespace  text not null,
	name       text not null,
	key_name   text not null, -- of the key that it is sealed with
	sealed     text not null,
	created_at integer not null,
	updated_at integer not null,
	updated_by text not null,
	primary key (namespace, name)
) without rowid;
