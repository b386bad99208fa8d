package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/app/ui/console"
	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// console returns the web interface. It calls the API of this node without a
// socket.
func (a *App) console(s *httpapi.Server) (http.Handler, error) {
	provider, err := a.provider()
	if err != nil {
		return nil, err
	}
	calls := unsaved{s.Transport()}
	o := console.Options{
		API: func(token string) (console.API, error) {
			// The address is a placeholder: no call leaves the process.
			client, err := client.New("http://localhost", token, client.Options{Transport: calls, UserAgent: "belfry console"})
			return consoleAPI{client}, err
		},
		Sessions: a.store, Status: httpapi.StatusOf, Logger: a.log, Now: a.clock.Now, Version: a.opt.Version, PublicURL: a.opt.PublicURL,
		TokenFile: a.localTokenFile, Redeem: a.redeem, Limits: a.opt.WebLimits(), Provider: provider, Tokens: a.store, Network: httpapi.NetworkOf,
		Inspect: sandbox.Compiled, ReadDefinition: readDefinition, WriteDefinition: writeDefinition, PlaceDefinition: placeDefinition,
	}
	if a.artifacts != nil {
		o.Uploads = a.artifacts
	}
	c, err := console.New(o)
	if err != nil {
		return nil, err
	}
	if provider != nil {
		a.loop("provider", provider.Run)
	}
	a.pages = c
	return c.Handler(), nil
}

// unsaved refuses calls that may change something while a page shows a form again as it was typed.
type unsaved struct{ http.RoundTripper }

// reads are calls that change nothing although they are not of the method GET.
var reads = []string{"/v1/look", "/v1/windows/preview"}

func (u unsaved) RoundTrip(r *http.Request) (*http.Response, error) {
	if !console.Unsaved(r.Context()) || r.Method == http.MethodGet || r.Method == http.MethodPost && slices.Contains(reads, r.URL.Path) {
		return u.RoundTripper.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	status := httpapi.StatusOf(console.ErrUnsaved)
	text, err := json.Marshal(wire.Problem{Status: status, Code: console.ErrUnsaved.Code, Detail: console.ErrUnsaved.Message, Hint: console.ErrUnsaved.Hint})
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Request: r, Header: http.Header{"Content-Type": {wire.ProblemType}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}, err
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

// inForm turns a fault in a text into an error of the form field that holds the text.
func inForm(f config.Fault) core.FieldError {
	message := strings.TrimSpace(f.Field + " " + f.Message)
	if f.Place.Line > 0 {
		message = fmt.Sprintf("line %d: %s", f.Place.Line, message)
	}
	return core.FieldError{Field: "definition", Message: message, Hint: f.Hint}
}

// placeDefinition adds line numbers of the definition to the fields of an error. A field that the definition lacks keeps its name.
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

// writeDefinition returns a definition as YAML.
func writeDefinition(v any) (string, error) {
	var b strings.Builder
	err := config.WriteYAML(&b, v)
	return b.String(), err
}

// consoleAPI converts types of the client that are not domain types into types
// of the console.
type consoleAPI struct{ *client.Client }

// PageDiff calls the client.
func (c consoleAPI) PageDiff(ctx context.Context, namespace, monitor string, from, to int64) (console.PageDiff, error) {
	d, err := c.Client.PageDiff(ctx, namespace, monitor, from, to)
	return console.PageDiff(d), err
}

// LastChange calls the client.
func (c consoleAPI) LastChange(ctx context.Context, namespace, monitor string) (console.PageDiff, error) {
	d, err := c.Client.LastChange(ctx, namespace, monitor)
	return console.PageDiff(d), err
}

// localTokenFile returns the token file, if only this machine can reach the node, or "".
func (a *App) localTokenFile() string {
	if !config.IsLoopback(a.opt.Listen) || a.opt.BehindProxy || a.opt.PublicURL != "" {
		return ""
	}
	return a.tokenFile
}
