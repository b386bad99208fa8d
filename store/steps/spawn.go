package steps

import (
	"encoding/json"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// spawn enqueues the job of a step, in the namespace of the job that it is a step of, and answers its id.
func (c *Change) spawn(parent int64, n job.NewJob) (json.RawMessage, error) {
	namespace, _, err := base.First(c.Ctx, c.Tx, base.ScanString, `select namespace from belfry.jobs where id = $1`, parent)
	if err != nil {
		return nil, err
	}
	if n.Namespace != "" && n.Namespace != namespace {
		return nil, core.InvalidField("job.namespace", n.Namespace, "must be that of the job that it is a step of", "leave it out")
	}
	n.Namespace = namespace
	made, err := c.jobs().Spawn(n)
	return json.RawMessage(strconv.FormatInt(made.Job.ID, 10)), err
}
