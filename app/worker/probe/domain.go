package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Limits of answers of registries, in bytes, and of their referrals.
const (
	maxRDAP      = 1 << 20
	maxWHOIS     = 64 << 10
	maxReferrals = 2
)

// domain checks when the registration of a domain expires.
func (l *check) domain(ctx context.Context) *reach.Fault {
	c := l.Task.Domain
	name, err := idna.Lookup.ToASCII(c.Name)
	if err != nil {
		return reach.Misconfigured("domain.name", err)
	}
	end, f := l.registered(ctx, c.Server, name)
	if f != nil {
		return unanswered(f)
	}
	l.Facts.DomainEnd, l.Answered = end, true
	return judgeRegistration(c, end, l.Now())
}

// unanswered makes a fault of the registry, or of the way to it, an error: it says nothing about the registration.
func unanswered(f *reach.Fault) *reach.Fault {
	if f.Outcome == task.CheckFail && f.Code != task.CodeDomainNotFound {
		f.Outcome, f.Code, f.Text = task.CheckError, task.CodeDomainUnknown, "the registry gave no answer: "+f.Text
	}
	return f
}

// registered returns the expiry of a registration. RDAP gets half of the time if WHOIS may be asked after it.
func (c *check) registered(ctx context.Context, server, name string) (end time.Time, f *reach.Fault) {
	if address, isWHOIS := strings.CutPrefix(server, "whois://"); isWHOIS {
		return c.whois(ctx, address, name)
	}
	if server != "" {
		return c.rdap(ctx, server, name)
	}
	part, cancel := share(ctx, 2)
	server = c.e.registries.server(part, name)
	if server != "" {
		end, f = c.rdap(part, server, name)
	}
	cancel()
	if server != "" && (f == nil || f.Code == task.CodeDomainNotFound) || ctx.Err() != nil && f != nil {
		return end, f
	}
	return c.whois(ctx, c.e.registries.WHOIS, name)
}

func judgeRegistration(c *task.Domain, end, now time.Time) *reach.Fault {
	left := end.Sub(now)
	within := func(days int) bool { return days > 0 && left < time.Duration(days)*24*time.Hour }
	text := fmt.Sprintf("the registration of %s ends on %s, in %d days", c.Name, core.Stamp(end), int(left/(24*time.Hour)))
	switch {
	case left < 0:
		return reach.Failing(task.CodeDomainExpired, "the registration of %s ended on %s", c.Name, core.Stamp(end))
	case within(c.FailDays):
		return reach.Failing(task.CodeDomainExpiring, "%s", text)
	case within(c.WarnDays):
		return &reach.Fault{Outcome: task.CheckDegraded, Code: task.CodeDomainExpiring, Text: text}
	}
	return nil
}

func unregistered(name string) *reach.Fault {
	return reach.Failing(task.CodeDomainNotFound, "the domain %s is not registered", name)
}

// rdap asks a server of RFC 9082.
func (c *check) rdap(ctx context.Context, server, name string) (end time.Time, f *reach.Fault) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(server, "/")+"/domain/"+url.PathEscape(name), nil)
	if err != nil {
		return end, reach.Misconfigured("domain.server", err)
	}
	req.Header.Set("Accept", "application/rdap+json, application/json")
	answer, f := c.Fetch(ctx, reach.Fetch{Request: req, MaxBody: maxRDAP})
	switch {
	case f != nil:
		return end, f
	case answer.Status == http.StatusNotFound:
		return end, unregistered(name)
	case answer.Status != http.StatusOK:
		return end, reach.Failing(task.CodeStatus, "the RDAP server answered %d %s", answer.Status, http.StatusText(answer.Status))
	}
	var found struct {
		Events []struct {
			Action string `json:"eventAction"`
			Date   string `json:"eventDate"`
		} `json:"events"`
	}
	if err := json.Unmarshal(answer.Body, &found); err != nil {
		return end, reach.Failing(task.CodeProtocol, "the RDAP server's answer is not JSON")
	}
	for _, e := range found.Events {
		if at, is := parseEnd(e.Date); is && e.Action == "expiration" {
			return at, nil
		}
	}
	return end, reach.Ours(task.CodeUnsupported, "the registry does not say when the registration of %s ends", name)
}

var (
	referral  = regexp.MustCompile(`(?im)^[ \t]*(?:refer|whois|registrar whois server):[ \t]*(\S+)[ \t]*\r?$`)
	noSuch    = regexp.MustCompile(`(?im)^[%# \t>-]*(?:no match|not found|no entries found|no data found|no object found|nothing found|domain not found|the queried object does not exist|object does not exist|status:[ \t]*(?:free|available))`)
	endOfName = regexp.MustCompile(`(?im)^[ \t]*(?:\[?(?:registry expiry date|registrar registration expiration date|expir(?:y|ation|es|e)(?:[ -](?:date|time|on))?|domain expires|record expires on|paid-till|renewal date|valid until|validity|有効期限)\]?)[ .]*:?[ \t]*(\S[^\r\n]*)`)
)

// whois asks a server of RFC 3912, and those that it refers to.
func (c *check) whois(ctx context.Context, server, name string) (end time.Time, f *reach.Fault) {
	asked := map[string]bool{}
	for range maxReferrals + 1 {
		if _, _, err := net.SplitHostPort(server); err != nil {
			server = net.JoinHostPort(strings.Trim(server, "[]"), "43")
		}
		asked[server] = true
		text, f := c.askWHOIS(ctx, server, name)
		if f != nil {
			return end, f
		}
		c.Snapshot = func() *task.Snapshot { return c.Secrets.Keep("", nil, []byte(text)) }
		for _, found := range endOfName.FindAllStringSubmatch(text, -1) {
			if at, is := parseEnd(found[1]); is {
				return at, nil
			}
		}
		next := referral.FindStringSubmatch(text)
		switch {
		case noSuch.MatchString(text):
			return end, unregistered(name)
		case next == nil || asked[next[1]] || asked[net.JoinHostPort(next[1], "43")]:
			return end, reach.Ours(task.CodeUnsupported, "the registry does not say when the registration of %s ends", name)
		}
		server = next[1]
	}
	return end, reach.Failing(task.CodeProtocol, "WHOIS servers refer to each other, and none knows %s", name)
}

func (c *check) askWHOIS(ctx context.Context, server, name string) (string, *reach.Fault) {
	x, conn, leave, f := c.connect(ctx, server, task.FamilyAny)
	if f != nil {
		return "", f
	}
	defer leave()
	x.Enter(reach.StageWrite)
	if _, err := io.WriteString(conn, name+"\r\n"); err != nil {
		return "", c.NetFault(ctx, x, err)
	}
	x.Enter(reach.StageWait)
	var text []byte
	chunk := make([]byte, 4<<10)
	for len(text) < maxWHOIS {
		n, err := conn.Read(chunk[:min(len(chunk), maxWHOIS-len(text))])
		if n > 0 {
			x.Advance(reach.StageBody)
			text = append(text, chunk[:n]...)
		}
		if errors.Is(err, io.EOF) && len(text) > 0 {
			break
		}
		if err != nil {
			return "", c.NetFault(ctx, x, err)
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// endLayouts are the date formats of registries.
var endLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05", "2006-01-02",
	"2006/01/02 15:04:05", "2006/01/02", "2006.01.02 15:04:05", "2006.01.02", "2006. 01. 02", "20060102150405", "20060102", "2006-Jan-02",
	"02-Jan-2006 15:04:05 MST", "02-Jan-2006 15:04:05", "02-Jan-2006", "2.1.2006 15:04:05", "2.1.2006", "02/01/2006 15:04:05", "02/01/2006",
	"January 2 2006", "2 January 2006", "2 Jan 2006", "Mon Jan 2 2006", "Mon Jan 2 15:04:05 MST 2006", "Mon Jan 2 15:04:05 2006",
}

// parseEnd reads a date, and ignores text after it. A day without a time means its start, in UTC.
func parseEnd(text string) (time.Time, bool) {
	words := strings.Fields(strings.TrimRight(strings.TrimSpace(text), "."))
	for n := min(len(words), 6); n > 0; n-- {
		piece := strings.TrimRight(strings.Join(words[:n], " "), ".")
		for _, layout := range endLayouts {
			if at, err := time.Parse(layout, piece); err == nil && at.Year() > 1980 {
				return at.UTC(), true
			}
		}
	}
	return time.Time{}, false
}
