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
func (l *check) dns(ctx context.Context) *reach.Fault {
	c := l.Task.DNS
	question, f := questionOf(c)
	if f != nil {
		return f
	}
	servers, f := l.servers(c.Server)
	if f != nil {
		return f
	}
	leave, f := l.WaitTurn(ctx, servers[0].address)
	if f != nil {
		return f
	}
	defer leave()
	x := l.NewExchange()
	reply, f := l.askServers(ctx, x, servers, question)
	x.End()
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
	m.SetEdns0(1232, false) // fits into one packet on all networks
	return m, nil
}

// server is a DNS server. Servers of the system are the operator's choice, and
// need no guard; a server that a task names is guarded.
type server struct {
	address string
	own     bool
}

func (c *check) servers(given string) ([]server, *reach.Fault) {
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
	conf, err := dns.ClientConfigFromFile(c.e.resolvConf)
	if err != nil || len(conf.Servers) == 0 {
		return nil, reach.Ours(task.CodeNetwork, "this machine has no resolver in %s: name one in server", c.e.resolvConf)
	}
	var list []server
	for _, host := range conf.Servers {
		list = append(list, server{net.JoinHostPort(host, conf.Port), true})
	}
	return list, nil
}

// askServers asks servers one after another, each for its share of the time.
func (c *check) askServers(ctx context.Context, x *reach.Exchange, servers []server, question *dns.Msg) (reply *dns.Msg, f *reach.Fault) {
	for i, s := range servers {
		part, cancel := share(ctx, len(servers)-i)
		reply, f = c.askServer(ctx, part, x, s, question)
		cancel()
		if f == nil || ctx.Err() != nil {
			break
		}
	}
	return reply, f
}

// share returns a context with a share of the remaining time.
func share(ctx context.Context, parts int) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded || parts <= 1 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(parts))
}

// tries is how often a question is sent over UDP, which may lose packets.
const tries = 3

func (c *check) askServer(ctx, part context.Context, x *reach.Exchange, s server, question *dns.Msg) (*dns.Msg, *reach.Fault) {
	if !c.Task.DNS.TCP {
		for i := range tries {
			try, cancel := share(part, tries-i)
			reply, err := c.exchange(try, x, "udp", s, question)
			cancel()
			switch {
			case err == nil && !reply.Truncated:
				return reply, nil
			case err == nil:
				reply, f := c.askTCP(ctx, part, x, s, question)
				if f != nil {
					f.Text = "the answer over UDP is cut off, and over TCP " + f.Text
				}
				return reply, f
			case !reach.IsTimeout(err) || part.Err() != nil || ctx.Err() != nil || i == tries-1:
				return nil, c.serverFault(ctx, x, s, err)
			}
		}
	}
	return c.askTCP(ctx, part, x, s, question)
}

func (c *check) askTCP(ctx, part context.Context, x *reach.Exchange, s server, question *dns.Msg) (*dns.Msg, *reach.Fault) {
	reply, err := c.exchange(part, x, "tcp", s, question)
	if err != nil {
		return nil, c.serverFault(ctx, x, s, err)
	}
	return reply, nil
}

func (c *check) exchange(ctx context.Context, x *reach.Exchange, network string, s server, question *dns.Msg) (*dns.Msg, error) {
	host, port, _ := net.SplitHostPort(s.address)
	var conn net.Conn
	var err error
	if s.own {
		x.Enter(reach.StageConnect)
		conn, err = new(net.Dialer).DialContext(ctx, network, s.address)
		if addr, err := netip.ParseAddr(host); err == nil {
			x.Dials(addr)
		}
	} else {
		conn, err = c.Connect(ctx, x, network, host, port, task.FamilyAny)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(reach.Past) })()
	x.Enter(reach.StageWait)
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

// answersTo reports whether a reply with the right ID is for the question. A refusal need not repeat the question.
func answersTo(reply, asked *dns.Msg) bool {
	if len(reply.Question) == 0 {
		return reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError
	}
	return len(reply.Question) == 1 && strings.EqualFold(reply.Question[0].Name, asked.Question[0].Name)
}

// serverFault returns the fault of a server, which is the target here. If a
// server of the system does not answer, that is a fault of this machine.
func (c *check) serverFault(ctx context.Context, x *reach.Exchange, s server, err error) *reach.Fault {
	f := c.NetFault(ctx, x, err)
	switch {
	case f.Outcome != task.CheckFail || x.At() < reach.StageConnect:
	case f.Code == task.CodeFirstByte, f.Code == task.CodeConnectTimeout:
		f.Code, f.Text = task.CodeDNSTimeout, fmt.Sprintf("the server did not answer within the timeout of %s", reach.Short(c.Budget))
	case x.At() == reach.StageWait:
		f.Code, f.Text = task.CodeDNSFailed, "the server's answer cannot be used: "+reach.Cause(err)
		if strings.Contains(f.Text, "refused") { // over UDP, a refusal arrives late
			f.Code, f.Text = task.CodeConnectRefused, "the server does not listen on this port"
		}
	}
	if s.own && f.Code == task.CodeConnectRefused {
		return reach.Ours(task.CodeNetwork, "this machine's resolver %s cannot be reached: it refused", s.address)
	}
	return f
}

// answers checks a reply.
func (l *check) answers(reply, question *dns.Msg) *reach.Fault {
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
	case !good && judgesBy(l.Task, "rcode") && len(missing) == 0: // the conditions decide which codes are good
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

func (c *check) unexpected() []string { return missing(c.Facts.Answers, c.Task.DNS.Expect) }

// missing returns the items of want that are not in got.
func missing(want, got []string) (list []string) {
	for _, text := range want {
		if !slices.ContainsFunc(got, func(have string) bool { return sameRecord(text, have) }) {
			list = append(list, text)
		}
	}
	return list
}

// sameRecord compares records. It ignores case, the last dot and the notation of
// an address.
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

// record returns the data of a record in the notation of zone files, and of a TXT its text.
func record(rr dns.RR) string {
	if txt, is := rr.(*dns.TXT); is {
		return strings.ToValidUTF8(strings.Join(txt.Txt, ""), "\uFFFD")
	}
	return strings.TrimSpace(strings.TrimPrefix(rr.String(), rr.Header().String()))
}
