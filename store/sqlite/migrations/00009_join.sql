-- +goose Up

-- Labels that workers get by the token that they use, as JSON.
alter table tokens add column labels text not null default 'null';

-- Rights to get tokens for workers.
create table join_tokens (
	id           integer primary key,
	name         text not null,
	namespace    text not null,
	labels       text not null, -- as JSON
	hash         text not null unique,
	uses         integer not null, -- how many machines may join
	used         integer not null default 0,
	expires_at   integer not null,
	created_at   integer not null,
	created_by   text not null,
	last_used_at integer not null default 0,
	revoked_at   integer not null default 0
);
