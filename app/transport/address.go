package transport

import (
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Address is the address of a broker: scheme://host/name?option=value.
type Address struct {
	Scheme, Host string
	Name         string // the path without its slash
	Options      map[string]string
}

// addressHint shows the forms of addresses.
const addressHint = "such as sqs://eu-central-1/render or nats://nats.internal:4222/RENDER?creds=/etc/belfry/nats.creds"

// ParseAddress reads an address that may have these options, each once. Its
// errors do not repeat the input, which may hold a secret in the wrong place.
func ParseAddress(text string, options ...string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Opaque != "" || u.Host == "" || u.Fragment != "" {
		return Address{}, BadAddress("is not the address of a broker")
	}
	if u.User != nil {
		return Address{}, BadAddress("holds a credential; those come from files and the environment")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, BadAddress("has a query that cannot be read")
	}
	a := Address{Scheme: u.Scheme, Host: u.Host, Name: strings.TrimPrefix(u.Path, "/"), Options: map[string]string{}}
	for name, values := range query {
		if !slices.Contains(options, name) {
			return Address{}, BadAddress("has an option that is not known; these are: " + strings.Join(options, ", "))
		}
		if len(values) != 1 {
			return Address{}, BadAddress("has " + name + " more than once")
		}
		a.Options[name] = values[0]
	}
	return a, nil
}

// BadAddress is the refusal of an address, under the field "broker".
func BadAddress(message string) error {
	return core.InvalidField("broker", "", message, addressHint)
}
