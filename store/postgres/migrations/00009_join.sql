-- +goose Up

-- Labels that workers get by the token that they use, as JSON.
alter table tokens add column labels text not null default 'null';

-- Rights to get tokens for workers.
create table join_tokens (
	id           bigint primary key,
	name         text not null,
	namespace    text not null,
	labels       text not null, -- as JSON
	hash         text not null unique,
	uses         bigint not null, -- how many machines may join
	used         bigint not null default 0,
	expires_at   bigint not null,
	created_at   bigint not null,
	created_by   text not null,
	last_used_at bigint not null default 0,
	revoked_at   bigint not null default 0
);
