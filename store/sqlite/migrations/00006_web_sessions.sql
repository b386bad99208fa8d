-- +goose Up

create table web_sessions (
	hash       text primary key, -- of the key in the cookie
	sealed     blob not null, -- the token's secret, which only that key opens
	created_at integer not null,
	seen_at    integer not null,
	expires_at integer not null
);

create index web_sessions_end on web_sessions (expires_at);
