-- +goose Up

create table calendars (
	id         integer primary key,
	namespace  text not null,
	name       text not null,
	generation integer not null,
	doc        text not null, -- the calendar as JSON, without its history
	created_at integer not null,
	updated_at integer not null,
	unique (namespace, name)
);

create table backfills (
	id          integer primary key,
	namespace   text not null,
	schedule_id integer not null,
	doc         text not null, -- the backfill as JSON, without its state
	state       text not null,
	done        integer not null default 0,
	made        integer not null default 0,
	left_out    integer not null default 0,
	created_at  integer not null,
	created_by  text not null,
	ended_at    integer not null default 0
);

create index backfills_active on backfills (id) where state = 'active';
create unique index backfills_one on backfills (schedule_id) where state in ('active', 'paused');
