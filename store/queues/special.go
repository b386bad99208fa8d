package queues

import (
	"encoding/json"
	"slices"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Special has the settings that new jobs need besides their tasks: queues with limits, bounds, or turns that differ from the
// instants at which jobs become ready; and limits of namespaces. Most stores have none.
type Special struct {
	Queues     map[string]job.Queue // only with name, limits, bound, fair key, turn base and time of creation
	Namespaces map[string][]flow.Limit
}

// fewSpecial is how many special queues and namespaces are always read together, by a query that is always the same.
const fewSpecial = 32

// Special returns the special queues and namespaces among the named ones. It may return others.
func (c *Change) Special(queues, namespaces []string) (Special, error) {
	few, all, err := c.fewSpecial()
	if err != nil || all {
		return few, err
	}
	queues, namespaces = base.Unique(slices.Clone(queues)), base.Unique(slices.Clone(namespaces))
	return c.readSpecial(` and `+c.SQL.In("name", 2), ` and `+c.SQL.In("name", 3), len(queues)+len(namespaces), c.SQL.List(queues), c.SQL.List(namespaces))
}

// AnyLimits reports whether any queues and any namespaces may have limits. It makes no query that [Change.Special] does not make.
func (c *Change) AnyLimits() (ofQueues, ofNamespaces bool, err error) {
	few, all, err := c.fewSpecial()
	for _, q := range few.Queues {
		ofQueues = ofQueues || len(q.Limits) > 0
	}
	return ofQueues || !all, len(few.Namespaces) > 0 || !all, err
}

// asked caches the special queues and namespaces in a transition: new jobs need them twice, for their limits and for their turns.
type asked struct {
	few  Special
	read bool
}

// ForgetSpecial drops this cache after the transition changed a queue or a namespace.
func (c *Change) ForgetSpecial() { *base.Kept[asked](c.Change) = asked{} }

// fewSpecial reads some special queues and namespaces, and reports whether these are all.
func (c *Change) fewSpecial() (few Special, all bool, err error) {
	kept := base.Kept[asked](c.Change)
	if few = kept.few; !kept.read {
		few, err = c.askSpecial()
		*kept = asked{few, err == nil}
	}
	return few, len(few.Queues)+len(few.Namespaces) <= fewSpecial, err
}

func (c *Change) askSpecial() (few Special, err error) {
	few, _, err = c.s.special.One(c.Change, "queues", "", func() (special Special, found bool, err error) {
		special, err = c.readSpecial(``, ``, fewSpecial+1)
		return special, true, err
	})
	return few, err
}

func (c *Change) readSpecial(ofQueues, ofNamespaces string, most int, args ...any) (special Special, err error) {
	_, err = base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var q job.Queue
		var limits, fair string
		var isQueue int64
		if err = rows.Scan(&q.Name, &limits, &fair, &q.TurnBase, &q.MaxWaiting, &q.OnFull, base.ScanTime(&q.CreatedAt), &isQueue); err == nil {
			err = scanned(&q, limits, fair)
		}
		switch {
		case err != nil:
		case isQueue == 0:
			if special.Namespaces == nil {
				special.Namespaces = map[string][]flow.Limit{}
			}
			special.Namespaces[q.Name] = q.Limits
		default:
			if special.Queues == nil {
				special.Queues = map[string]job.Queue{}
			}
			special.Queues[q.Name] = q
		}
		return none, err
	}, `
		select name, limits, fair, turn_base, max_waiting, on_full, created_at, 1
		from belfry.queues
		where (turn_base > 0 or limits <> '' or max_waiting > 0)`+ofQueues+`
		union all
		select name, limits, '', 0, 0, '', 0, 0
		from belfry.namespaces
		where limits <> ''`+ofNamespaces+`
		limit $1 + 0`, append([]any{most}, args...)...)
	return special, err
}

// scanned decodes the stored limits and fair settings of a queue.
func scanned(q *job.Queue, limits, fair string) error {
	if limits != "" {
		if err := json.Unmarshal([]byte(limits), &q.Limits); err != nil {
			return err
		}
	}
	if fair != "" {
		return json.Unmarshal([]byte(fair), &q.Fair)
	}
	return nil
}

// LimitsText returns limits as they are stored.
func LimitsText(all []flow.Limit) string {
	if len(all) == 0 {
		return ""
	}
	return base.Text(all)
}

// fairText returns the fair settings of a queue as they are stored.
func fairText(q job.Queue) string {
	if q.Fair == nil {
		return ""
	}
	return base.Text(q.Fair)
}
