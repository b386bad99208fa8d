-- +goose Up

-- Definitions that are few and read as a whole: channels, alert rules, windows
-- of maintenance, status pages.
create table documents (
	id         integer primary key,
	noun       text not null,
	namespace  text not null,
	name       text not null,
	generation integer not null,
	doc        text not null, -- as JSON, without its history
	created_at integer not null,
	updated_at integer not null,
	unique (noun, namespace, name)
);

create table monitors (
	id          integer primary key,
	namespace   text not null,
	name        text not null,
	kind        text not null,
	tags        text not null default '',
	generation  integer not null,
	doc         text not null,              -- the monitor as JSON, without its state
	schedule_id integer not null default 0, -- 0: a heartbeat
	beat_key    text,                       -- of a heartbeat's URL
	status      text not null,
	state       text not null,              -- as JSON
	wake_at     integer not null default 0, -- when time alone changes something; 0: never
	created_at  integer not null,
	updated_at  integer not null,
	unique (namespace, name)
);

create unique index monitors_schedule on monitors (schedule_id) where schedule_id > 0;
create unique index monitors_beat on monitors (beat_key) where beat_key is not null;
create index monitors_wake on monitors (wake_at) where wake_at > 0;

-- What checks saw, an hour after the other, so that one hour is rolled up
-- without a look at others, and old hours leave from the front. What was as it
-- should be has no detail.
create table results (
	hour        integer not null, -- of at, since 1970
	monitor_id  integer not null,
	at          integer not null,
	outcome     text not null,
	code        text not null default '',
	latency     integer not null default 0,
	dns         integer not null default 0,
	connect     integer not null default 0,
	tls         integer not null default 0,
	first_byte  integer not null default 0,
	transfer    integer not null default 0,
	queue_delay integer not null default 0,
	status      integer not null default 0,
	starved     integer not null default 0,
	job_id      integer not null default 0,
	detail      text,
	primary key (hour, monitor_id, at)
) without rowid;

-- Hours and days of results. Days stay for ever.
create table rollups (
	monitor_id integer not null,
	span       integer not null, -- seconds: 3600 or 86400
	at         integer not null,
	ok         integer not null,
	degraded   integer not null,
	fail       integer not null,
	error      integer not null,
	total      integer not null, -- of latencies, microseconds
	least      integer not null,
	most       integer not null,
	latency    text not null,    -- a histogram in base64
	primary key (monitor_id, span, at)
) without rowid;

create index rollups_span on rollups (span, at);

-- One row: how far results were rolled up.
create table rolled (
	hour integer not null, -- the next to be rolled up; 0: none was
	day  integer not null
);

insert into rolled (hour, day) values (0, 0);

-- The timeline of a monitor: what held from an instant on. Kept for ever.
create table spans (
	monitor_id integer not null,
	at         integer not null,
	state      text not null,
	cause      text not null default '',
	primary key (monitor_id, at)
) without rowid;

create table incidents (
	id         integer primary key autoincrement,
	namespace  text not null,
	monitor_id integer not null,
	monitor    text not null,
	started_at integer not null,
	ended_at   integer not null default 0,
	ended_by   text not null default '',
	doc        text not null
);

create index incidents_monitor on incidents (monitor_id, id);
create index incidents_open on incidents (id) where ended_at = 0;

create table page_versions (
	monitor_id integer not null,
	seq        integer not null,
	digest     text not null,
	at         integer not null,
	doc        text not null,
	primary key (monitor_id, seq)
) without rowid;

create table page_texts (
	monitor_id integer not null,
	digest     text not null,
	text       blob not null, -- compressed
	primary key (monitor_id, digest)
) without rowid;

-- Who is to be told what: written with what happened, in one transaction.
create table alerts (
	id          integer primary key autoincrement,
	namespace   text not null,
	channel     text not null,
	rule        text not null,
	type        text not null,
	monitor_id  integer not null default 0,
	incident_id integer not null default 0,
	notice      text not null,
	state       text not null,
	reason      text not null default '',
	created_at  integer not null,
	due_at      integer not null,
	taken_until integer not null default 0, -- a node is telling it
	ended_at    integer not null default 0,
	tries       integer not null default 0,
	message     text not null default ''
);

create index alerts_pending on alerts (due_at) where state = 'pending';
create index alerts_channel on alerts (namespace, channel, id) where state = 'pending';
create index alerts_incident on alerts (incident_id, channel) where incident_id > 0;

create table alert_tries (
	id        integer primary key autoincrement,
	namespace text not null,
	channel   text not null,
	message   text not null,
	at        integer not null,
	took      integer not null,
	alerts    integer not null,
	error     text not null,
	final     integer not null
);

create index alert_tries_message on alert_tries (message);
