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

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// dns asks for a record.
func (l *look) dns(ctx context.Context) *reach.Fault {
	c := l.Task.DNS
	question, f := questionOf(c)
	if f != nil {
		return f
	}
	servers, f := l.servers(c.Server)
	if f != nil {
		return f
	}
	leave, f := l.Turn(ctx, servers[0].address)
	if f != nil {
		return f
	}
	defer leave()
	trip := l.Trip()
	reply, f := l.askServers(ctx, trip, servers, question)
	trip.End()
	if f != nil {
		return f
	}
	return l.answers(reply, question)
}

func questionOf(c *task.DNS) (*dns.Msg, *reach.Fault) {
	kind, known := dns.StringToType[c.Type]
	if !known {
		return nil, reach.Ours(task.CodeConfig, "dns.type: %s is not a record type", c.Type)
	}
	name := dns.Fqdn(c.Name)
	if addr, err := netip.ParseAddr(c.Name); err == nil && kind == dns.TypePTR {
		name, _ = dns.ReverseAddr(addr.String())
	}
	if _, valid := dns.IsDomainName(name); !valid {
		return nil, reach.Ours(task.CodeConfig, "dns.name: %q is not a domain name", c.Name)
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

func (l *look) servers(given string) ([]server, *reach.Fault) {
	if given != "" {
		host, port, err := net.SplitHostPort(given)
		if err != nil {
			host, port = strings.Trim(given, "[]"), "53"
		}
		if host == "" {
			return nil, reach.Ours(task.CodeConfig, "dns.server: %q has no host", given)
		}
		return []server{{address: net.JoinHostPort(host, port)}}, nil
	}
	conf, err := dns.ClientConfigFromFile(l.e.resolvConf)
	if err != nil || len(conf.Servers) == 0 {
		return nil, reach.Ours(task.CodeNetwork, "this machine has no resolver in %s: name one in server", l.e.resolvConf)
	}
	var list []server
	for _, host := range conf.Servers {
		list = append(list, server{net.JoinHostPort(host, conf.Port), true})
	}
	return list, nil
}

// askServers asks one after another, each for its part of the time.
func (l *look) askServers(ctx context.Context, trip *reach.Trip, servers []server, question *dns.Msg) (reply *dns.Msg, f *reach.Fault) {
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

func (l *look) askServer(ctx, part context.Context, trip *reach.Trip, s server, question *dns.Msg) (*dns.Msg, *reach.Fault) {
	if !l.Task.DNS.TCP {
		for i := range tries {
			try, cancel := share(part, tries-i)
			reply, err := l.exchange(try, trip, "udp", s, question)
			cancel()
			switch {
			case err == nil && !reply.Truncated:
				return reply, nil
			case err == nil:
				return l.askTCP(ctx, part, trip, s, question)
			case !reach.IsTimeout(err) || part.Err() != nil || ctx.Err() != nil || i == tries-1:
				return nil, l.serverFault(ctx, trip, s, err)
			}
		}
	}
	return l.askTCP(ctx, part, trip, s, question)
}

func (l *look) askTCP(ctx, part context.Context, trip *reach.Trip, s server, question *dns.Msg) (*dns.Msg, *reach.Fault) {
	reply, err := l.exchange(part, trip, "tcp", s, question)
	if err != nil {
		return nil, l.serverFault(ctx, trip, s, err)
	}
	return reply, nil
}

func (l *look) exchange(ctx context.Context, trip *reach.Trip, network string, s server, question *dns.Msg) (*dns.Msg, error) {
	host, port, _ := net.SplitHostPort(s.address)
	var conn net.Conn
	var err error
	if s.own {
		trip.Enter(reach.StageConnect)
		conn, err = new(net.Dialer).DialContext(ctx, network, s.address)
		if addr, err := netip.ParseAddr(host); err == nil {
			trip.Dials(addr)
		}
	} else {
		conn, err = l.Connect(ctx, trip, network, host, port, task.FamilyAny)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(reach.Past) })()
	trip.Enter(reach.StageWait)
	timeout := monitor.MaxCheckTimeout.D() // never reached: the context ends before
	if deadline, bounded := ctx.Deadline(); bounded {
		timeout = time.Until(deadline)
	}
	client := dns.Client{Net: network, Timeout: timeout}
	asked := question.Copy()
	asked.Id = dns.Id()
	reply, _, err := client.ExchangeWithConnContext(ctx, asked, &dns.Conn{Conn: conn, UDPSize: 1232})
	if err == nil && (!reply.Response || !answersTo(reply, asked)) {
		err = errors.New("the reply is for another question")
	}
	return reply, err
}

// answersTo reports whether a reply with the right ID is for the question. A refusal need not repeat it.
func answersTo(reply, asked *dns.Msg) bool {
	if len(reply.Question) == 0 {
		return reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError
	}
	return len(reply.Question) == 1 && strings.EqualFold(reply.Question[0].Name, asked.Question[0].Name)
}

// serverFault is what went wrong with a server, which here is the target. One
// of our own that does not listen is our fault.
func (l *look) serverFault(ctx context.Context, trip *reach.Trip, s server, err error) *reach.Fault {
	f := l.NetFault(ctx, trip, err)
	switch {
	case f.Outcome != task.CheckFail || trip.At() < reach.StageConnect:
	case f.Code == task.CodeFirstByte, f.Code == task.CodeConnectTimeout:
		f.Code, f.Text = task.CodeDNSTimeout, fmt.Sprintf("the server did not answer within the timeout of %s", reach.Short(l.Budget))
	case trip.At() == reach.StageWait:
		f.Code, f.Text = task.CodeDNSFailed, "the server's answer cannot be used: "+reach.Cause(err)
		if strings.Contains(f.Text, "refused") { // UDP learns of it late
			f.Code, f.Text = task.CodeConnectRefused, "the server does not listen on this port"
		}
	}
	if s.own && f.Code == task.CodeConnectRefused {
		return reach.Ours(task.CodeNetwork, "this machine's resolver %s cannot be reached: it refused", s.address)
	}
	return f
}

// answers judges a reply.
func (l *look) answers(reply, question *dns.Msg) *reach.Fault {
	c := l.Task.DNS
	l.Facts.RCode, l.Facts.TTL = dns.RcodeToString[reply.Rcode], 0
	for _, rr := range reply.Answer {
		if rr.Header().Rrtype != question.Question[0].Qtype {
			continue
		}
		if ttl := int(rr.Header().Ttl); len(l.Facts.Answers) == 0 || ttl < l.Facts.TTL {
			l.Facts.TTL = ttl
		}
		l.Facts.Answers = append(l.Facts.Answers, record(rr))
	}
	slices.Sort(l.Facts.Answers)
	l.Answered = true
	l.Snapshot = func() *task.Snapshot {
		return l.Secrets.Keep(l.Facts.RCode, nil, []byte(strings.Join(l.Facts.Answers, "\n")))
	}
	got := strings.Join(l.Facts.Answers, ", ")
	good := reply.Rcode == dns.RcodeSuccess
	switch missing := missing(c.Expect, l.Facts.Answers); {
	case !good && judgesBy(l.Task, "rcode") && len(missing) == 0: // the conditions say which codes are good
	case reply.Rcode == dns.RcodeNameError:
		return reach.Failing(task.CodeDNSNotFound, "the name %s does not exist", c.Name)
	case !good:
		return reach.Failing(task.CodeDNSFailed, "the server answered %s", l.Facts.RCode)
	case len(l.Facts.Answers) == 0:
		return reach.Failing(task.CodeExpect, "the name %s has no record of type %s", c.Name, c.Type)
	case len(missing) > 0:
		return reach.Failing(task.CodeExpect, "expected %s, got %s", strings.Join(missing, ", "), got)
	case c.Exact:
		if more := l.unexpected(); len(more) > 0 {
			return reach.Failing(task.CodeExpect, "did not expect %s beside %s", strings.Join(more, ", "), strings.Join(c.Expect, ", "))
		}
	}
	return nil
}

func (l *look) unexpected() []string { return missing(l.Facts.Answers, l.Task.DNS.Expect) }

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
