package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/belfry-run/belfry"
)

// dns asks for a record.
func (l *look) dns(ctx context.Context) *fault {
	c := l.task.DNS
	question, f := questionOf(c)
	if f != nil {
		return f
	}
	servers, f := l.servers(c.Server)
	if f != nil {
		return f
	}
	leave, f := l.turn(ctx, servers[0].address)
	if f != nil {
		return f
	}
	defer leave()
	trip := newTrip(&l.watch)
	defer l.arrive(trip)
	reply, f := l.askServers(ctx, trip, servers, question)
	l.arrive(trip)
	if f != nil {
		return f
	}
	return l.answers(reply, question)
}

func questionOf(c *belfry.DNS) (*dns.Msg, *fault) {
	kind, known := dns.StringToType[c.Type]
	if !known {
		return nil, ours(belfry.CodeConfig, "dns.type: %s is not a record type", c.Type)
	}
	name := dns.Fqdn(c.Name)
	if addr, err := netip.ParseAddr(c.Name); err == nil && kind == dns.TypePTR {
		name, _ = dns.ReverseAddr(addr.String())
	}
	if _, valid := dns.IsDomainName(name); !valid {
		return nil, ours(belfry.CodeConfig, "dns.name: %q is not a domain name", c.Name)
	}
	m := new(dns.Msg)
	m.SetQuestion(name, kind)
	m.SetEdns0(1232, false) // what passes everywhere in one piece
	return m, nil
}

// server is one to ask. Those of the system are the operator's choice and are
// asked as any look-up asks them; one that a task names is guarded.
type server struct {
	address string
	own     bool
}

func (l *look) servers(given string) ([]server, *fault) {
	if given != "" {
		host, port, err := net.SplitHostPort(given)
		if err != nil {
			host, port = strings.Trim(given, "[]"), "53"
		}
		if host == "" {
			return nil, ours(belfry.CodeConfig, "dns.server: %q has no host", given)
		}
		return []server{{address: net.JoinHostPort(host, port)}}, nil
	}
	conf, err := dns.ClientConfigFromFile(l.e.options.ResolvConf)
	if err != nil || len(conf.Servers) == 0 {
		return nil, ours(belfry.CodeNetwork, "this machine has no resolver in %s: name one in server", l.e.options.ResolvConf)
	}
	var list []server
	for _, host := range conf.Servers {
		list = append(list, server{net.JoinHostPort(host, conf.Port), true})
	}
	return list, nil
}

// askServers asks one after another, each for its part of the time.
func (l *look) askServers(ctx context.Context, trip *trip, servers []server, question *dns.Msg) (reply *dns.Msg, f *fault) {
	for i, s := range servers {
		part, cancel := share(ctx, len(servers)-i)
		reply, f = l.askServer(ctx, part, trip, s, question)
		cancel()
		if f == nil || ctx.Err() != nil {
			break
		}
	}
	return reply, f
}

// share is a context with a part of the time that is left.
func share(ctx context.Context, parts int) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded || parts <= 1 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(parts))
}

// tries of a question over UDP, which loses packets.
const tries = 3

func (l *look) askServer(ctx, part context.Context, trip *trip, s server, question *dns.Msg) (*dns.Msg, *fault) {
	if !l.task.DNS.TCP {
		for i := range tries {
			try, cancel := share(part, tries-i)
			reply, err := l.exchange(try, trip, "udp", s, question)
			cancel()
			switch {
			case err == nil && !reply.Truncated:
				return reply, nil
			case err == nil:
				return l.askTCP(ctx, part, trip, s, question)
			case !isTimeout(err) || part.Err() != nil || ctx.Err() != nil || i == tries-1:
				return nil, l.serverFault(ctx, trip, s, err)
			}
		}
	}
	return l.askTCP(ctx, part, trip, s, question)
}

func (l *look) askTCP(ctx, part context.Context, trip *trip, s server, question *dns.Msg) (*dns.Msg, *fault) {
	reply, err := l.exchange(part, trip, "tcp", s, question)
	if err != nil {
		return nil, l.serverFault(ctx, trip, s, err)
	}
	return reply, nil
}

func (l *look) exchange(ctx context.Context, trip *trip, network string, s server, question *dns.Msg) (*dns.Msg, error) {
	host, port, _ := net.SplitHostPort(s.address)
	var conn net.Conn
	var err error
	if s.own {
		trip.enter(stageConnect)
		conn, err = new(net.Dialer).DialContext(ctx, network, s.address)
		if addr, err := netip.ParseAddr(host); err == nil {
			trip.dials(addr)
		}
	} else {
		conn, err = l.e.connect(ctx, trip, network, host, port, belfry.FamilyAny)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(past) })()
	trip.enter(stageWait)
	timeout := belfry.MaxCheckTimeout.D() // never reached: the context ends before
	if deadline, bounded := ctx.Deadline(); bounded {
		timeout = time.Until(deadline)
	}
	client := dns.Client{Net: network, Timeout: timeout}
	asked := question.Copy()
	asked.Id = dns.Id()
	reply, _, err := client.ExchangeWithConnContext(ctx, asked, &dns.Conn{Conn: conn, UDPSize: 1232})
	if err == nil && (!reply.Response || len(reply.Question) != 1 || !strings.EqualFold(reply.Question[0].Name, asked.Question[0].Name)) {
		err = errors.New("the reply is for another question")
	}
	return reply, err
}

// serverFault is what went wrong with a server, which here is the target. One
// of our own that nobody listens at is our fault.
func (l *look) serverFault(ctx context.Context, trip *trip, s server, err error) *fault {
	f := l.netFault(ctx, trip, err)
	switch {
	case f.outcome != belfry.CheckFail || trip.stage() < stageConnect:
	case f.code == belfry.CodeFirstByte, f.code == belfry.CodeConnectTimeout:
		f.code, f.text = belfry.CodeDNSTimeout, fmt.Sprintf("the server did not answer within the timeout of %s", short(l.budget))
	case trip.stage() == stageWait:
		f.code, f.text = belfry.CodeDNSFailed, "the server's answer cannot be used: "+cause(err)
		if strings.Contains(f.text, "refused") { // UDP learns of it late
			f.code, f.text = belfry.CodeConnectRefused, "the server does not listen on this port"
		}
	}
	if s.own && f.code == belfry.CodeConnectRefused {
		return ours(belfry.CodeNetwork, "this machine's resolver %s cannot be reached: it refused", s.address)
	}
	return f
}

// answers judges a reply.
func (l *look) answers(reply, question *dns.Msg) *fault {
	c := l.task.DNS
	l.facts.RCode, l.facts.TTL = dns.RcodeToString[reply.Rcode], 0
	for _, rr := range reply.Answer {
		if rr.Header().Rrtype != question.Question[0].Qtype {
			continue
		}
		if ttl := int(rr.Header().Ttl); len(l.facts.Answers) == 0 || ttl < l.facts.TTL {
			l.facts.TTL = ttl
		}
		l.facts.Answers = append(l.facts.Answers, record(rr))
	}
	slices.Sort(l.facts.Answers)
	l.answered = true
	l.snapshot = func() *belfry.Snapshot {
		return l.secrets.keep(l.facts.RCode, nil, []byte(strings.Join(l.facts.Answers, "\n")))
	}
	got := strings.Join(l.facts.Answers, ", ")
	switch missing := missing(c.Expect, l.facts.Answers); {
	case reply.Rcode == dns.RcodeNameError:
		return failing(belfry.CodeDNSNotFound, "the name %s does not exist", c.Name)
	case reply.Rcode != dns.RcodeSuccess:
		return failing(belfry.CodeDNSFailed, "the server answered %s", l.facts.RCode)
	case len(l.facts.Answers) == 0:
		return failing(belfry.CodeExpect, "the name %s has no record of type %s", c.Name, c.Type)
	case len(missing) > 0:
		return failing(belfry.CodeExpect, "expected %s, got %s", strings.Join(missing, ", "), got)
	case c.Exact:
		if more := l.unexpected(); len(more) > 0 {
			return failing(belfry.CodeExpect, "did not expect %s beside %s", strings.Join(more, ", "), strings.Join(c.Expect, ", "))
		}
	}
	return nil
}

func (l *look) unexpected() []string { return missing(l.facts.Answers, l.task.DNS.Expect) }

// missing are those of want that are not in got.
func missing(want, got []string) (list []string) {
	for _, text := range want {
		if !slices.ContainsFunc(got, func(have string) bool { return sameRecord(text, have) }) {
			list = append(list, text)
		}
	}
	return list
}

// sameRecord compares as people read: the case, the last dot and the way of
// writing an address do not matter.
func sameRecord(a, b string) bool {
	if one, err := netip.ParseAddr(a); err == nil {
		other, err := netip.ParseAddr(b)
		return err == nil && one == other
	}
	plain := func(text string) string {
		return strings.TrimSuffix(strings.ToLower(strings.Join(strings.Fields(text), " ")), ".")
	}
	return a == b || plain(a) == plain(b)
}

// record is the data of a record as zone files have it, and a TXT as its text.
func record(rr dns.RR) string {
	if txt, is := rr.(*dns.TXT); is {
		return strings.ToValidUTF8(strings.Join(txt.Txt, ""), "\uFFFD")
	}
	return strings.TrimSpace(strings.TrimPrefix(rr.String(), rr.Header().String()))
}
