-- +goose Up

-- The schedules of a task, in the order of a list.
create index schedules_of_task on schedules (task_id, name);
drop index schedules_task;

-- Those that do not run. Most do, and have no entry: what fires writes nothing here.
create index schedules_resting on schedules (state, namespace, name) where state <> 'active';
