package quotas

import (
	"maps"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// definitions, monitors, artifacts and outputs count the rows of a namespace. Objects of a monitor count as part of the monitor.
const (
	definitions = `
		select (select count(*) from belfry.tasks where namespace = $1 and substr(name, 1, 8) <> 'monitor:' and substr(name, 1, 13) <> 'belfry' || '.trial.')
			+ (select count(*) from belfry.schedules where namespace = $1 and substr(name, 1, 8) <> 'monitor:')
			+ (select count(*) from belfry.calendars where namespace = $1)
			+ (select count(*) from belfry.documents where namespace = $1)`
	monitors  = `select count(*) from belfry.monitors where namespace = $1`
	artifacts = `select cast(coalesce(sum(size), 0) as bigint) from belfry.artifacts where namespace = $1`
	outputs   = `select cast(coalesce(sum(size), 0) as bigint) from belfry.outputs where namespace = $1`
)

// kept is a quota of stored objects or bytes, with its counting query.
type kept struct {
	quota, count string
	limit        int64
}

func keptBy(q access.Quota) []kept {
	return []kept{
		{access.QuotaDefinitions, definitions, int64(q.Definitions)},
		{access.QuotaMonitors, monitors, int64(q.Monitors)},
		{access.QuotaArtifactBytes, artifacts, q.ArtifactBytes},
		{access.QuotaOutputBytes, outputs, q.OutputBytes},
	}
}

// quotaOf returns the quota in which a new object of a noun counts; empty: none.
func quotaOf(noun string) string {
	switch noun {
	case "monitor":
		return access.QuotaMonitors
	case "artifact":
		return access.QuotaArtifactBytes
	case "output":
		return access.QuotaOutputBytes
	case "task", "schedule", "calendar", "channel", "alert_rule", "hook", "window", "status_page":
		return access.QuotaDefinitions
	}
	return ""
}

// made counts the new objects of a transition, by namespace and quota.
type made map[string]map[string]int

// Created records a new object. The quotas are checked at the end of the transition, when all its objects are written.
func (c *Change) Created(noun, namespace, name string) error {
	quota := quotaOf(noun)
	if _, owned := task.OwnerOf(name); owned || quota == "" || noun == "task" && strings.HasPrefix(name, task.TrialPrefix) { // trial tasks are few, and are deleted automatically
		return nil
	}
	if _, has, err := c.of(namespace); err != nil || !has {
		return err
	}
	all := base.Kept[made](c.Change)
	first := *all == nil
	if first {
		*all = made{}
	}
	if (*all)[namespace] == nil {
		(*all)[namespace] = map[string]int{}
	}
	(*all)[namespace][quota]++
	switch {
	case c.Foreign: // a transaction of the caller has no such end
		return c.fits(*all)
	case first:
		c.Before(func() error { return c.fits(*all) })
	}
	return nil
}

// fits returns a refusal if the new objects exceed a quota. It locks the rows of the namespaces first, so that it sees the objects
// of concurrent transitions.
func (c *Change) fits(all made) error {
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		n, has, err := c.of(namespace)
		if err != nil || !has {
			return err
		}
		if _, found, err := c.lock(definitionsOf(namespace)); err != nil || !found {
			return err
		}
		for _, k := range keptBy(n.Quota) {
			more := all[namespace][k.quota]
			if k.limit == 0 || more == 0 {
				continue
			}
			count, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, k.count, namespace)
			if err != nil {
				return err
			}
			if count > k.limit {
				err := refuse(n, k.quota, k.limit, max(count-int64(more), 0), int64(more), 0)
				if access.OfBytes(k.quota) {
					err = refuse(n, k.quota, k.limit, count, 0, 0)
				}
				c.s.TellOver(err)
				return err
			}
		}
	}
	return nil
}

func definitionsOf(namespace string) string { return "definitions:" + namespace }
