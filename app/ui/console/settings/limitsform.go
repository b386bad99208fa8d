package settings

import (
	"cmp"
	"net/url"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/core"
)

// limitGroups are the fields of the form.
func limitGroups() []forms.InputGroup {
	return []forms.InputGroup{
		{Title: "Quotas", Inputs: []forms.Input{
			{Path: "quota.waiting", Label: "Jobs waiting", Kind: forms.AsNumber, Hint: "Jobs that have not ended and do not run. Beyond it new ones are refused, and runs of schedules are skipped."},
			{Path: "quota.enqueue_rate", Label: "Jobs enqueued", Hint: "In a length of time, such as 100/1m."},
			{Path: "quota.enqueue_burst", Label: "At once after a rest", Kind: forms.AsNumber, Hint: "Default: as many as the rate names."},
			{Path: "quota.call_rate", Label: "Calls of the API", Hint: "By tokens of the namespace on each node, such as 1000/1m. Workers and pages are not counted."},
			{Path: "quota.call_burst", Label: "Calls at once after a rest", Kind: forms.AsNumber, Hint: "Default: as many as the rate names."},
			{Path: "quota.definitions", Label: "Definitions", Kind: forms.AsNumber, Hint: "Tasks, schedules, calendars, channels, alert rules, maintenance windows and status pages together."},
			{Path: "quota.monitors", Label: "Monitors", Kind: forms.AsNumber},
			{Path: "quota.artifact_bytes", Label: "Uploaded artifacts", Kind: forms.AsSize, Hint: "Such as 10 GiB."},
			{Path: "quota.output_bytes", Label: "Output files", Kind: forms.AsSize, Hint: "Files that programs leave, such as 10 GiB."},
			{Path: "quota.log_bytes", Label: "Logs", Kind: forms.AsSize, Hint: "Such as 10 GiB. Beyond it the log of a job ends with a line that says so, and the job goes on."},
		}},
		{Title: "Limits of jobs", Inputs: []forms.Input{
			{Path: "limits", Label: "Limits", Kind: forms.AsLimits, Hint: "One a line, up to 4, such as running=20, or key=input.customer,rate=100/1m,burst=10. A limit holds jobs back, and refuses none."},
		}},
		{Title: "What it may use", Inputs: []forms.Input{
			{Path: "queues", Label: "Queues", Kind: forms.AsWords, Hint: "Default: all. Checks of monitors always have the queue checks."},
			{Path: "max_priority", Label: "Highest priority", Kind: forms.AsNumber, Hint: "Of its tasks and jobs, -1000 to 1000."},
		}},
	}
}

// limitsFormData is the form.
type limitsFormData struct{ forms.Form }

// limitsForm fails for a person without the scope to send it.
func (p *page) limitsForm(values url.Values, err error) (f forms.Form, _ error) {
	switch {
	case !p.CanEverywhere(access.ScopeAdmin):
		return f, core.Errorf(core.Forbidden, "your token may not change limits of namespaces").WithHint("it takes one with the scope admin, for all namespaces")
	case p.Namespace == core.AnyNamespace:
		return f, core.InvalidField("namespace", p.Namespace, "is not one namespace", "choose one")
	}
	if err := core.ValidName("namespace", p.Namespace); err != nil {
		return f, err
	}
	return forms.Form{
		Edit: forms.Edit{Version: values.Get("version")}, Title: "Limits of " + p.Namespace, Action: p.Link("settings", "limits", "edit"), Back: p.Link("settings", "limits"),
		Groups: forms.Fill(limitGroups(), values, err), Err: err, Save: "Save",
		Command: p.Command("PUT", "/v1/namespaces/"+url.PathEscape(p.Namespace), `{"quota":{"waiting":10000},"limits":[{"running":20}]}`,
			"namespace", "set", p.Namespace, "--max-waiting", "10000", "--limit", "running=20"),
	}, nil
}

func editLimits(p *page) error {
	if _, err := p.limitsForm(nil, nil); err != nil { // before anything is read: a person without the scope sees no form
		return err
	}
	n, err := p.api.Namespace(p.R.Context(), p.Namespace)
	if err != nil {
		return err
	}
	values := limitValues(n)
	values.Set("version", cmp.Or(n.Version(), core.NotThere))
	f, err := p.limitsForm(values, nil)
	if err != nil {
		return err
	}
	return p.Show("limits-edit", limitsFormData{f})
}

// limitValues are the values of a namespace for the form of its limits.
func limitValues(n access.Namespace) url.Values {
	return forms.DocumentOf(n).Values(forms.InputsOf(limitGroups()))
}

func saveLimits(p *page) error {
	if _, err := p.limitsForm(p.R.PostForm, nil); err != nil {
		return err
	}
	doc, n := forms.Document{}, access.Namespace{}
	err := doc.Read(forms.InputsOf(limitGroups()), p.R.PostForm)
	err = cmp.Or(err, doc.To(&n))
	if n.Name = p.Namespace; err == nil {
		_, err = p.api.SaveNamespace(forms.Expecting(p.Page), n)
	}
	if err == nil {
		return p.Done(p.Link("settings", "limits"), "Limits of %s are saved.", p.Namespace)
	}
	e, both, shown := forms.Meanwhile(p.Page, p.api, err, "namespace", n.Name, p.Link("settings", "limits", "edit"), n, func() (access.Namespace, error) {
		return p.api.Namespace(p.R.Context(), p.Namespace)
	})
	f, bad := p.limitsForm(forms.Filled(p.Page, &forms.AsText{}, both, limitValues), shown)
	if bad != nil {
		return bad
	}
	e.Version = cmp.Or(e.Version, core.NotThere) // another has taken all limits away meanwhile
	f.Edit = e
	return p.Again("limits-edit", limitsFormData{f}, err)
}
