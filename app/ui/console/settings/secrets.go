package settings

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type secretAPI interface {
	KeptSecrets(ctx context.Context, f view.DocumentFilter) (core.Page[task.KeptSecret], error)
	SetSecret(ctx context.Context, namespace, name string, value core.Secret) (task.KeptSecret, error)
	DeleteSecret(ctx context.Context, namespace, name string) error
}

var secretRoutes = routes{
	"GET /settings/secrets":                secretList,
	"POST /settings/secrets":               setSecret,
	"POST /settings/secrets/{name}/delete": deleteSecret,
}

type secretsData struct {
	Secrets core.Page[task.KeptSecret]
	Pager   parts.Pager
	Err     error
	name    string // of the form; its value is never shown again
}

func secretList(p *page) error { return secretsData{}.show(p) }

func (d secretsData) show(p *page) (err error) {
	d.Secrets, err = p.api.KeptSecrets(p.R.Context(), view.DocumentFilter{Namespace: p.Namespace, Paging: core.Paging{Cursor: p.Query("cursor")}})
	if err != nil {
		return err
	}
	d.Pager = p.Pager(d.Secrets.Next)
	if d.Err != nil {
		return p.Again("secrets", d, d.Err)
	}
	return p.Show("secrets", d)
}

func setSecret(p *page) error {
	form := p.R.PostForm
	name := strings.TrimSpace(form.Get("name"))
	value := strings.ReplaceAll(form.Get("value"), "\r\n", "\n") // as browsers send lines
	if form.Get("line") != "" {
		value = strings.TrimSpace(value)
	}
	k, err := p.api.SetSecret(p.R.Context(), p.Namespace, name, core.Secret(value))
	if err != nil {
		return secretsData{Err: forms.Both(err, task.CheckSecret(core.Secret(value))), name: name}.show(p)
	}
	return p.Done(p.Link("settings", "secrets"), "Saved secret %s. Programs get it from their next start on.", k.Name)
}

func deleteSecret(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteSecret(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("settings", "secrets"), "Secret %s is deleted.", name)
}

// Fields are those of a secret that is set.
func (d secretsData) Fields() []parts.Field {
	value := parts.NewField("value", "Value", "area", "", "It is sealed, given to programs, masked in their logs, and never shown again.", d.Err).Need()
	value.Unkept = true
	return []parts.Field{
		parts.NewField("name", "Name", "text", d.name, "An existing secret of this name is replaced.", d.Err).Need(),
		value,
		parts.NewField("line", "Leave out space and line ends around it", "check", "true", "", d.Err),
	}
}

// SetSecretCommand is the command that sets a secret. It reads the value from standard input, or the shell would keep it in its
// history.
func (p *page) SetSecretCommand(d secretsData) parts.Command {
	name := d.name
	if name == "" {
		name = "NAME"
	}
	return p.Command("PUT", p.APIPath("/v1/secrets/"+url.PathEscape(name)), "@value.json", "secret", "set", name, "-")
}

// DeleteSecret asks before a secret is forgotten.
func (p *page) DeleteSecret(i int, k task.KeptSecret) parts.Confirm {
	cmd := p.Command("DELETE", p.APIPath("/v1/secrets/"+url.PathEscape(k.Name)), "", "secret", "delete", k.Name)
	return parts.Confirm{
		ID: "delete-" + parts.NumberText(i), Button: "Delete", Danger: true, Title: "Delete secret " + k.Name + "?",
		Text:   "A secret that a task uses is not deleted. Its value cannot be restored.",
		Action: p.LinkIn(k.Namespace, "settings", "secrets", k.Name, "delete"), Cmd: &cmd,
	}
}

// OneNamespace reports that forms know whose things they make.
func (p *page) OneNamespace() bool { return p.Namespace != core.AnyNamespace }

// UsedBy are tasks in a row.
func (d secretsData) UsedBy(k task.KeptSecret) []string {
	return slices.Sorted(slices.Values(k.Tasks))
}
