package probe

import (
	"net/url"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Vet finds faults of a task that package task cannot check: expressions that do
// not compile, and invalid certificates. The task must contain its secrets.
func Vet(t task.Task) error {
	t = t.WithDefaults()
	faults := condition.Vet(t)
	if k := kinds[t.Kind]; k.validate != nil && t.Kind.Info().Given(t) {
		k.validate(t, func(field, message, hint string) {
			faults = append(faults, core.FieldError{Field: field, Message: message, Hint: hint})
		})
	}
	if len(faults) == 0 {
		return nil
	}
	return &core.Error{Code: core.Invalid, Message: "task cannot run as it is", Fields: faults}
}

// refusal records the fault of a field.
type refusal func(field, message, hint string)

func (refuse refusal) ca(field, ca string) {
	if ca == "" {
		return
	}
	if _, err := reach.ParseCA(ca); err != nil {
		refuse(field, err.Error(), "the PEM of one or more certificates")
	}
}

func validateHTTP(t task.Task, refuse refusal) {
	h := t.HTTP
	refuse.ca("http.ca", h.CA)
	if a := h.Auth; a != nil && a.Cert != "" && a.Key != "" {
		if _, err := reach.ParsePair(a.Cert, string(a.Key)); err != nil {
			refuse("http.auth.cert", "and key cannot be read together: "+err.Error(), "the PEM of a certificate, and of its private key")
		}
	}
	if u, err := url.Parse(h.Proxy); err == nil && u.Scheme == "https" && h.ServerName != "" {
		refuse("http.server_name", "cannot stand beside a proxy that is asked over https", "it would be taken for the proxy's name too")
	}
}

func validateTLS(t task.Task, refuse refusal) { refuse.ca("tls.ca", t.TLS.CA) }

func validateGRPC(t task.Task, refuse refusal) { refuse.ca("grpc.ca", t.GRPC.CA) }

func validateDNS(t task.Task, refuse refusal) {
	if _, f := questionOf(t.DNS); f != nil {
		refuse("dns.name", f.Text, "")
	}
}
