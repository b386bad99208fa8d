package workflows

import (
	"fmt"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/expression"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/workflow"
)

// scope returns the values that expressions can read. A fault is an error of the workflow: an output that cannot be read.
func (c *Change) scope(p *progress, texts []string) (s *expression.Scope, fault, err error) {
	read := map[string]expression.Ended{}
	for _, text := range texts {
		if text == "" {
			continue
		}
		refs, err := expression.RefsOf(text)
		if err != nil {
			return nil, err, nil
		}
		for _, name := range append(refs.Ends, refs.Outputs...) {
			i := p.plan.Workflow.Find(name)
			if _, done := read[name]; !done && i >= 0 {
				read[name] = expression.Ended{State: string(p.Steps[i].State), Error: p.Steps[i].Error}
			}
		}
		for _, name := range refs.Outputs {
			i, e := p.plan.Workflow.Find(name), read[name]
			if i < 0 || e.Output != nil {
				continue
			}
			if e.Output, fault, err = c.output(p, i); err != nil || fault != nil {
				return nil, fault, err
			}
			read[name] = e
		}
	}
	s, fault = expression.NewScope(p.plan.Input, read)
	return s, fault, nil
}

type outputRow struct {
	item   int
	size   int
	output *string
}

// output returns the output of a step that has ended. With for_each or matrix, the output is the list of the items' outputs,
// and null for items that did not succeed.
func (c *Change) output(p *progress, i int) (out any, fault, err error) {
	step, s := p.plan.Workflow.Steps[i], p.Steps[i]
	total, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select coalesce(sum(size), 0) from belfry.workflow_items where run_id = $1 and step = $2`, p.JobID, i)
	if err != nil {
		return nil, nil, err
	}
	if total > maxOutputs {
		return nil, fmt.Errorf("the output of %s has %d bytes, the most that can be read is %d", step.Name, total, maxOutputs), nil
	}
	rows, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (o outputRow, err error) { return o, r.Scan(&o.item, &o.size, &o.output) }, `
		select item, size, output
		from belfry.workflow_items
		where run_id = $1 and step = $2
		order by item`, p.JobID, i)
	if err != nil {
		return nil, nil, err
	}
	list := make([]any, s.Total+s.Kept)
	for _, r := range rows {
		if r.output == nil && r.size > 0 {
			return nil, fmt.Errorf("the output of %s has %d bytes, the most that can be read is %d", step.Name, r.size, core.MaxInput), nil
		}
		if r.output == nil {
			continue
		}
		v, err := expression.Decode([]byte(*r.output))
		if err != nil {
			return nil, fmt.Errorf("the output of %s is not JSON", step.Name), nil
		}
		if !step.Many() {
			return v, nil, nil
		}
		if r.item < len(list) {
			list[r.item] = v
		}
	}
	if !step.Many() || s.State == workflow.Skipped {
		return nil, nil, nil
	}
	return list, nil, nil
}
