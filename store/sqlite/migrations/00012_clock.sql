-- +goose Up

-- By how much the clock was followed in all, and the last of these steps, by the
-- clock as it was from then on: in microseconds.
alter table clock add column total bigint not null default 0;
alter table clock add column set_at bigint not null default 0;
alter table clock add column set_by bigint not null default 0;
