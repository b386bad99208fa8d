package settings

import (
	"context"
	"net/url"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

type limitAPI interface {
	Namespace(ctx context.Context, name string) (access.Namespace, error)
	QuotaUse(ctx context.Context, name string) ([]access.QuotaUse, error)
	SaveNamespace(ctx context.Context, n access.Namespace) (access.Namespace, error)
	NamespaceLimitUse(ctx context.Context, name string) ([]view.LimitUse, error)
}

var limitRoutes = routes{
	"GET /settings/limits":       limitsPage,
	"GET /settings/limits/edit":  editLimits,
	"POST /settings/limits/edit": saveLimits,
}

// limitsData has the limits and quotas of a namespace, and their use.
type limitsData struct {
	access.Namespace
	Quotas []access.QuotaUse
	Use    []view.LimitUse
}

func limitsPage(p *page) error {
	if p.Namespace == core.AnyNamespace {
		all, err := p.api.Namespaces(p.R.Context())
		if err != nil {
			return err
		}
		return p.Show("limits-of-all", all)
	}
	ctx := p.R.Context()
	var d limitsData
	err := frame.Together(
		frame.Get(&d.Namespace, func() (access.Namespace, error) { return p.api.Namespace(ctx, p.Namespace) }),
		frame.Get(&d.Quotas, func() ([]access.QuotaUse, error) { return p.api.QuotaUse(ctx, p.Namespace) }),
		frame.Get(&d.Use, func() ([]view.LimitUse, error) { return p.api.NamespaceLimitUse(ctx, p.Namespace) }),
	)
	if err != nil {
		return err
	}
	return p.Show("limits", d)
}

// quotaWords are the names of quotas for people, and the effect of a full one.
var quotaWords = map[string][2]string{
	access.QuotaWaiting:       {"Jobs waiting", "New jobs are refused. Runs of schedules are skipped. Retries, steps and checks are always let in."},
	access.QuotaEnqueueRate:   {"Jobs enqueued", "New jobs are refused until the rate lets them in."},
	access.QuotaCallRate:      {"Calls of the API", "Calls are refused until the rate lets them in. The use is that of this node."},
	access.QuotaDefinitions:   {"Definitions", "New ones are refused. Those that exist can be edited."},
	access.QuotaMonitors:      {"Monitors", "New ones are refused. Those that exist go on."},
	access.QuotaArtifactBytes: {"Uploaded artifacts", "Uploads are refused."},
	access.QuotaOutputBytes:   {"Output files", "New files are not kept, and the job says so. Its end does not change."},
	access.QuotaLogBytes:      {"Logs", "The log of a job ends with a line that says so. The job goes on."},
}

// quotaName is the name of a quota for people.
func quotaName(quota string) string {
	if words, is := quotaWords[quota]; is {
		return words[0]
	}
	return parts.SentenceCase(strings.ReplaceAll(quota, "_", " "))
}

// quotaFull returns the effect of a full quota.
func quotaFull(quota string) string { return quotaWords[quota][1] }

// fullFrom is how much of a quota is used when its bar warns.
const fullFrom = 0.9

func quotaText(u access.QuotaUse) string {
	if access.OfBytes(u.Quota) {
		return u.Text()
	}
	return parts.NumberText(u.Used) + " of " + parts.NumberText(u.Limit)
}

func quotaBar(u access.QuotaUse) parts.Bar {
	tone := ""
	switch {
	case u.Used >= u.Limit:
		tone = "bad"
	case float64(u.Used) >= fullFrom*float64(u.Limit):
		tone = "warn"
	}
	return parts.NewBar(quotaName(u.Quota), float64(min(u.Used, u.Limit)), float64(u.Limit), quotaText(u), tone)
}

// LimitsCommand shows the same without this page.
func (p *page) LimitsCommand() parts.Command {
	return p.Command("GET", "/v1/namespaces/"+url.PathEscape(p.Namespace)+"/quota", "", "namespace", "show", p.Namespace)
}
