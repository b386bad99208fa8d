package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/app/ui/console"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
)

// console is the pages for people, which call the API of this node without a
// socket.
func (a *App) console(s *httpapi.Server) (http.Handler, error) {
	provider, err := a.provider()
	if err != nil {
		return nil, err
	}
	calls := s.Transport()
	c, err := console.New(console.Options{
		API: func(token string) (console.API, error) {
			// The address is a name and nothing more: no call leaves the process.
			client, err := client.New("http://localhost", token, client.Options{Transport: calls, UserAgent: "belfry console"})
			return consoleAPI{client}, err
		},
		Sessions: a.store, Status: httpapi.StatusOf, Logger: a.log, Version: a.opt.Version, PublicURL: a.opt.PublicURL,
		TokenFile: a.localTokenFile, Redeem: a.redeem, Limits: a.opt.WebLimits(), Provider: provider, Tokens: a.store, Network: httpapi.NetworkOf,
		Uploads: a.artifacts.Origin, ReadDefinition: readDefinition, WriteDefinition: writeDefinition, PlaceDefinition: placeDefinition,
	})
	if err != nil {
		return nil, err
	}
	if provider != nil {
		a.loop("provider", provider.Run)
	}
	a.pages = c
	return c.Handler(), nil
}

// readDefinition reads the YAML or JSON of a form.
func readDefinition(text, what string, v any) error {
	err := config.Decode(config.Source{Name: "form", Text: []byte(text)}, what, v)
	var file *config.FileError
	if !errors.As(err, &file) {
		return err
	}
	wrong := core.Errorf(core.Invalid, "this is not a %s", what)
	for _, f := range file.Faults {
		wrong.Fields = append(wrong.Fields, inForm(f))
	}
	return wrong
}

// inForm is a fault of a text as one of the field that holds it.
func inForm(f config.Fault) core.FieldError {
	message := strings.TrimSpace(f.Field + " " + f.Message)
	if f.Place.Line > 0 {
		message = fmt.Sprintf("line %d: %s", f.Place.Line, message)
	}
	return core.FieldError{Field: "definition", Message: message, Hint: f.Hint}
}

// placeDefinition says in which lines of a definition the fields of an error are. One that is in none keeps its name.
func placeDefinition(text string, v any, err error) error {
	var refused *core.Error
	var file *config.FileError
	if !errors.As(err, &refused) || !errors.As(config.Locate(config.Source{Name: "form", Text: []byte(text)}, v, err), &file) {
		return err
	}
	placed := *refused
	placed.Fields = nil
	for _, f := range file.Faults {
		if f.Place.Line > 0 {
			if f.Value != "" {
				f.Message = fmt.Sprintf("%.80q %s", f.Value, f.Message)
			}
			f.FieldError = inForm(f)
		}
		placed.Fields = append(placed.Fields, f.FieldError)
	}
	return &placed
}

// writeDefinition is a definition as YAML.
func writeDefinition(v any) (string, error) {
	var b strings.Builder
	err := config.WriteYAML(&b, v)
	return b.String(), err
}

// consoleAPI answers with the console's own types where the API's are not the
// root's.
type consoleAPI struct{ *client.Client }

// PageDiff is that of the client.
func (c consoleAPI) PageDiff(ctx context.Context, namespace, monitor string, from, to int64) (console.PageDiff, error) {
	d, err := c.Client.PageDiff(ctx, namespace, monitor, from, to)
	return console.PageDiff(d), err
}

// LastChange is that of the client.
func (c consoleAPI) LastChange(ctx context.Context, namespace, monitor string) (console.PageDiff, error) {
	d, err := c.Client.LastChange(ctx, namespace, monitor)
	return console.PageDiff(d), err
}

// localTokenFile is the token file as long as only this machine can ask for it.
func (a *App) localTokenFile() string {
	if !config.IsLoopback(a.opt.Listen) || a.opt.BehindProxy || a.opt.PublicURL != "" {
		return ""
	}
	return a.tokenFile
}
