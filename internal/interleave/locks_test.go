package interleave

import (
	"fmt"
	"regexp"
)

// rank is the order in which rows of tables are locked. Rows of one table are locked in the order of their IDs.
var rank = map[string]int{"sessions": 1, "jobs": 2, "leases": 3, "packs": 3}

var (
	changes = regexp.MustCompile(`(?:update|delete from) belfry\.(sessions|jobs|leases|packs)\b`)
	locks   = regexp.MustCompile(`for (?:no key )?update(?: of (\w+))?`)
	begins  = regexp.MustCompile(`^.: begin\b`)
)

// outOfOrder returns a statement of an actor that locks rows of a table for the first time in its transaction, after rows
// of a table with a higher rank.
func outOfOrder(steps []string) string {
	held := map[string]bool{}
	for _, step := range steps {
		if begins.MatchString(step) {
			clear(held)
		}
		var tables []string
		for _, m := range changes.FindAllStringSubmatch(step, -1) {
			tables = append(tables, m[1])
		}
		for _, m := range locks.FindAllStringSubmatch(step, -1) {
			tables = append(tables, m[1])
		}
		for _, table := range tables {
			if rank[table] == 0 || held[table] {
				continue
			}
			for other := range held {
				if rank[other] > rank[table] {
					return fmt.Sprintf("rows of %s are locked after rows of %s:\n%s", table, other, step)
				}
			}
		}
		for _, table := range tables {
			if rank[table] > 0 {
				held[table] = true
			}
		}
	}
	return ""
}
