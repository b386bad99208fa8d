-- +goose Up

create table calendars (
	id         bigint primary key,
	namespace  text not null,
	name       text not null,
	generation bigint not null,
	doc        text not null, -- the calendar as JSON, without its history
	created_at bigint not null,
	updated_at bigint not null,
	unique (namespace, name)
);

create table backfills (
	id          bigint primary key,
	namespace   text not null,
	schedule_id bigint not null,
	doc         text not null, -- the backfill as JSON, without its state
	state       text not null,
	done        bigint not null default 0,
	made        bigint not null default 0,
	left_out    bigint not null default 0,
	created_at  bigint not null,
	created_by  text not null,
	ended_at    bigint not null default 0
);

create index backfills_active on backfills (id) where state = 'active';
create unique index backfills_one on backfills (schedule_id) where state in ('active', 'paused');
