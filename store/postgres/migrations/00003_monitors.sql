-- +goose Up

-- Definitions that are few and read as a whole: channels, alert rules, windows
-- of maintenance, status pages.
create table documents (
	id         bigint primary key,
	noun       text not null,
	namespace  text not null,
	name       text not null,
	generation bigint not null,
	doc        text not null, -- as JSON, without its history
	created_at bigint not null,
	updated_at bigint not null,
	unique (noun, namespace, name)
);

create table monitors (
	id          bigint primary key,
	namespace   text not null,
	name        text not null,
	kind        text not null,
	tags        text not null default '',
	generation  bigint not null,
	doc         text not null,              -- the monitor as JSON, without its state
	schedule_id bigint not null default 0, -- 0: a heartbeat
	beat_key    text,                       -- of a heartbeat's URL
	status      text not null,
	state       text not null,              -- as JSON
	wake_at     bigint not null default 0, -- when time alone changes something; 0: never
	created_at  bigint not null,
	updated_at  bigint not null,
	unique (namespace, name)
);

create unique index monitors_schedule on monitors (schedule_id) where schedule_id > 0;
create unique index monitors_beat on monitors (beat_key) where beat_key is not null;
create index monitors_wake on monitors (wake_at) where wake_at > 0;

-- What checks saw, an hour after the other, so that one hour is rolled up
-- without a look at others, and old hours leave from the front. What was as it
-- should be has no detail.
create table results (
	hour        bigint not null, -- of at, since 1970
	monitor_id  bigint not null,
	at          bigint not null,
	outcome     text not null,
	code        text not null default '',
	latency     bigint not null default 0,
	dns         bigint not null default 0,
	connect     bigint not null default 0,
	tls         bigint not null default 0,
	first_byte  bigint not null default 0,
	transfer    bigint not null default 0,
	queue_delay bigint not null default 0,
	status      bigint not null default 0,
	starved     bigint not null default 0,
	job_id      bigint not null default 0,
	detail      text,
	primary key (hour, monitor_id, at)
);

-- Hours and days of results. Days stay for ever.
create table rollups (
	monitor_id bigint not null,
	span       bigint not null, -- seconds: 3600 or 86400
	at         bigint not null,
	ok         bigint not null,
	degraded   bigint not null,
	fail       bigint not null,
	error      bigint not null,
	total      bigint not null, -- of latencies, microseconds
	least      bigint not null,
	most       bigint not null,
	latency    text not null,    -- a histogram in base64
	primary key (monitor_id, span, at)
);

create index rollups_span on rollups (span, at);

-- One row: how far results were rolled up.
create table rolled (
	hour bigint not null, -- the next to be rolled up; 0: none was
	day  bigint not null
);

insert into rolled (hour, day) values (0, 0);

-- The timeline of a monitor: what held from an instant on. Kept for ever.
create table spans (
	monitor_id bigint not null,
	at         bigint not null,
	state      text not null,
	cause      text not null default '',
	primary key (monitor_id, at)
);

create table incidents (
	id         bigint generated always as identity primary key,
	namespace  text not null,
	monitor_id bigint not null,
	monitor    text not null,
	started_at bigint not null,
	ended_at   bigint not null default 0,
	ended_by   text not null default '',
	doc        text not null
);

create index incidents_monitor on incidents (monitor_id, id);
create index incidents_open on incidents (id) where ended_at = 0;

create table page_versions (
	monitor_id bigint not null,
	seq        bigint not null,
	digest     text not null,
	at         bigint not null,
	doc        text not null,
	primary key (monitor_id, seq)
);

create table page_texts (
	monitor_id bigint not null,
	digest     text not null,
	text       bytea not null, -- compressed
	primary key (monitor_id, digest)
);

-- Who is to be told what: written with what happened, in one transaction.
create table alerts (
	id          bigint generated always as identity primary key,
	namespace   text not null,
	channel     text not null,
	rule        text not null,
	type        text not null,
	monitor_id  bigint not null default 0,
	incident_id bigint not null default 0,
	notice      text not null,
	state       text not null,
	reason      text not null default '',
	created_at  bigint not null,
	due_at      bigint not null,
	taken_until bigint not null default 0, -- a node is telling it
	ended_at    bigint not null default 0,
	tries       bigint not null default 0,
	message     text not null default ''
);

create index alerts_pending on alerts (due_at) where state = 'pending';
create index alerts_channel on alerts (namespace, channel, id) where state = 'pending';
create index alerts_incident on alerts (incident_id, channel) where incident_id > 0;

create table alert_tries (
	id        bigint generated always as identity primary key,
	namespace text not null,
	channel   text not null,
	message   text not null,
	at        bigint not null,
	took      bigint not null,
	alerts    bigint not null,
	error     text not null,
	final     bigint not null
);

create index alert_tries_message on alert_tries (message);

alter table monitors set (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
alter table results set (autovacuum_vacuum_insert_scale_factor = 0.1);
