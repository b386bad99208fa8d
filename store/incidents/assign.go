package incidents

import (
	"context"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
)

// AssignIncident assigns an incident, open or over, to a person, by default to the caller. The last assignment counts.
func (s *Store) AssignIncident(ctx context.Context, namespace string, id int64, to string) (monitor.Incident, error) {
	if strings.TrimSpace(to) == "" {
		to = access.ActorOf(ctx)
	}
	return s.assign(ctx, namespace, id, to)
}

// UnassignIncident removes an assignment. Any person may do so. Without an assignment it changes nothing.
func (s *Store) UnassignIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error) {
	return s.assign(ctx, namespace, id, "")
}

func (s *Store) assign(ctx context.Context, namespace string, id int64, to string) (i monitor.Incident, err error) {
	err = s.Write(ctx, "assign incident", func(c *base.Change) error {
		if i, err = lockIncident(c, namespace, id); err != nil {
			return err
		}
		before := i.Assignee()
		all, changed, err := i.Assign(monitor.Assignment{To: to, By: access.ActorOf(ctx), At: c.Now})
		if err != nil || !changed {
			return err
		}
		i.AssignedBy(all)
		if _, err := c.Tx.Exec(ctx, `update belfry.incidents set assignee = $2, assigned = $3 where id = $1`, id, i.Assignee(), base.Text(all)); err != nil {
			return err
		}
		action, note := "assign", "to "+i.Assignee()
		if i.Assigned == nil {
			action, note = "unassign", "it was assigned to "+before
		}
		return c.Audit(action, "incident", i.Namespace, strconv.FormatInt(id, 10), note, nil, nil)
	})
	return i, err
}
