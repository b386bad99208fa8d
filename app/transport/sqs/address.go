package sqs

import (
	"net/url"
	"strings"

	"github.com/belfry-run/belfry/app/transport"
)

// Place is where a queue is.
type Place struct {
	Region   string
	Queue    string // its name
	Dead     string // the name of the queue for unreadable messages, which Setup makes; default: Queue and "-dead"
	Endpoint string // the service, unless it is AWS
}

// Parse reads an address:
//
//	sqs://eu-central-1/render
//	sqs://eu-central-1/render?dead=poison
//	sqs://elsewhere/render?endpoint=http://127.0.0.1:9324
func Parse(address string) (Place, error) {
	a, err := transport.ParseAddress(address, "endpoint", "dead")
	if err != nil {
		return Place{}, err
	}
	p := Place{Region: a.Host, Queue: a.Name, Dead: a.Options["dead"], Endpoint: a.Options["endpoint"]}
	if p.Dead == "" {
		p.Dead = p.Queue + "-dead"
	}
	return p, p.check()
}

func (p Place) check() error {
	if strings.HasSuffix(p.Queue, ".fifo") {
		return transport.BadAddress("names a FIFO queue: order and duplicates do not matter here, and a standard queue is faster")
	}
	if !isName(p.Queue) || !isName(p.Dead) || p.Queue == p.Dead {
		return transport.BadAddress("has no valid name of a queue: 1 to 80 letters, digits, dashes and underscores")
	}
	if p.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(p.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return transport.BadAddress("has an endpoint that is not plainly http:// or https:// and a host")
	}
	return nil
}

func isName(name string) bool {
	return len(name) > 0 && len(name) <= 80 && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}
