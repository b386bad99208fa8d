-- +goose Up

create table web_sessions (
	hash       text primary key, -- of the key in the cookie
	sealed     bytea not null, -- the token's secret, which only that key opens
	created_at bigint not null,
	seen_at    bigint not null,
	expires_at bigint not null
);

create index web_sessions_end on web_sessions (expires_at);
