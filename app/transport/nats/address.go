package nats

import (
	"net"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/app/transport"
)

// Place is where a stream is.
type Place struct {
	Servers  []string // host:port
	Stream   string
	Replicas int    // copies that Setup asks for; default: 1
	Creds    string // file with a user's JWT and seed, as nsc writes it
	Nkey     string // file with the seed of a user
	TLS      bool   // never speak in the clear
	CA       string // file with certificates to trust, PEM; default: the system's
	Cert     string // file with a certificate to show, PEM
	Key      string // file with its key, PEM
}

// Parse reads an address:
//
//	nats://nats.internal:4222/RENDER?creds=/etc/belfry/nats.creds
//	nats://a.internal/RENDER?servers=b.internal:4222,c.internal:4222&replicas=3
//	tls://nats.internal:4222/RENDER?ca=/etc/belfry/ca.pem&cert=/etc/belfry/cert.pem&key=/etc/belfry/key.pem
func Parse(address string) (Place, error) {
	a, err := transport.ParseAddress(address, "servers", "replicas", "creds", "nkey", "ca", "cert", "key")
	if err != nil {
		return Place{}, err
	}
	o := a.Options
	p := Place{
		Servers: []string{a.Host}, Stream: a.Name, Replicas: 1, TLS: a.Scheme == "tls",
		Creds: o["creds"], Nkey: o["nkey"], CA: o["ca"], Cert: o["cert"], Key: o["key"],
	}
	if more := o["servers"]; more != "" {
		p.Servers = append(p.Servers, strings.Split(more, ",")...)
	}
	if n := o["replicas"]; n != "" {
		if p.Replicas, err = strconv.Atoi(n); err != nil {
			return Place{}, transport.BadAddress("has replicas that are not a number")
		}
	}
	return p, p.check()
}

func (p Place) check() error {
	switch {
	case !isStream(p.Stream):
		return transport.BadAddress("has no valid name of a stream: 1 to 64 letters, digits, dashes and underscores")
	case p.Replicas < 0 || p.Replicas > 5:
		return transport.BadAddress("has replicas outside 1 to 5")
	case p.Creds != "" && p.Nkey != "":
		return transport.BadAddress("has creds and nkey; give one")
	case (p.Cert == "") != (p.Key == ""):
		return transport.BadAddress("has one of cert and key; they belong together")
	case len(p.Servers) == 0:
		return transport.BadAddress("names no server")
	}
	for _, server := range p.Servers {
		if server == "" || strings.ContainsAny(server, "/@? ") {
			return transport.BadAddress("names a server that is not host:port")
		}
	}
	return nil
}

// urls are the servers as the client takes them.
func (p Place) urls() string {
	scheme := "nats://"
	if p.TLS {
		scheme = "tls://"
	}
	list := make([]string, len(p.Servers))
	for i, server := range p.Servers {
		if _, _, err := net.SplitHostPort(server); err != nil {
			server = net.JoinHostPort(strings.Trim(server, "[]"), "4222")
		}
		list[i] = scheme + server
	}
	return strings.Join(list, ",")
}

func isStream(name string) bool {
	return len(name) > 0 && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

func (p Place) subject() string     { return "belfry.tickets." + p.Stream }
func (p Place) dead() string        { return p.Stream + "_dead" }
func (p Place) deadSubject() string { return "belfry.dead." + p.Stream }

// advisory is where JetStream says that it gave a message up.
func (p Place) advisory() string {
	return "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + p.Stream + "." + consumer
}
