package probe

import (
	"net/url"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Vet says what is wrong with a task that its own rules cannot see: whether
// its expressions can be compiled, and its certificates be read. A task that
// is edited has its secrets put back before.
func Vet(t task.Task) error {
	t = t.WithDefaults()
	faults := condition.Vet(t)
	refuse := func(field, message, hint string) {
		faults = append(faults, core.FieldError{Field: field, Message: message, Hint: hint})
	}
	checkCA := func(field, ca string) {
		if ca == "" {
			return
		}
		if _, err := reach.ParseCA(ca); err != nil {
			refuse(field, err.Error(), "the PEM of one or more certificates")
		}
	}
	if h := t.HTTP; h != nil {
		checkCA("http.ca", h.CA)
		if a := h.Auth; a != nil && a.Cert != "" && a.Key != "" {
			if _, err := reach.ParsePair(a.Cert, string(a.Key)); err != nil {
				refuse("http.auth.cert", "and key cannot be read together: "+err.Error(), "the PEM of a certificate, and of its private key")
			}
		}
		if u, err := url.Parse(h.Proxy); err == nil && u.Scheme == "https" && h.ServerName != "" {
			refuse("http.server_name", "cannot stand beside a proxy that is asked over https", "it would be taken for the proxy's name too")
		}
	}
	if c := t.TLS; c != nil {
		checkCA("tls.ca", c.CA)
	}
	if c := t.GRPC; c != nil {
		checkCA("grpc.ca", c.CA)
	}
	if c := t.DNS; c != nil {
		if _, f := questionOf(c); f != nil {
			refuse("dns.name", f.Text, "")
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &core.Error{Code: core.Invalid, Message: "task cannot run as it is", Fields: faults}
}
