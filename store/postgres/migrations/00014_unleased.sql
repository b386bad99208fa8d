-- +goose Up

-- As before, with a shorter way where no lease lies in the reach of the jobs,
-- which is so when claims walk through a backlog: they are looked for together
-- and not one by one.
-- +goose StatementBegin
create or replace function unleased(ids bigint[]) returns setof bigint language plpgsql volatile as $$
declare
	low bigint;
	high bigint;
begin
	select min(id), max(id) into low, high from unnest(ids) as t (id);
	if exists (select from leases l where l.job_id between low and high)
		or exists (select from packs p where p.last_job >= low and p.first_job <= high) then
		return query
			select t.id
			from unnest(ids) as t (id)
			where (select l.number from leases l where l.job_id = t.id) is null
				and t.id not in (select unnest(p.jobs) from packs p where p.last_job >= low and p.first_job <= high);
	else
		return query select t.id from unnest(ids) as t (id);
	end if;
end
$$;
-- +goose StatementEnd
