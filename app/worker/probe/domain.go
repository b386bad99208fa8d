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

// Limits of what registries answer, in bytes, and of their referrals.
const (
	maxRDAP      = 1 << 20
	maxWHOIS     = 64 << 10
	maxReferrals = 2
)

// domain asks when a registration ends.
func (l *look) domain(ctx context.Context) *reach.Fault {
	c := l.Task.Domain
	name, err := idna.Lookup.ToASCII(c.Name)
	if err != nil {
		return reach.Misconfigured("domain.name", err)
	}
	end, f := l.registered(ctx, c.Server, name)
	if f != nil {
		return f
	}
	l.Facts.DomainEnd, l.Answered = end, true
	return judgeRegistration(c, end, time.Now())
}

// registered is when the registration of a name ends. RDAP has half of the time when WHOIS may be asked after it.
func (l *look) registered(ctx context.Context, server, name string) (end time.Time, f *reach.Fault) {
	if address, isWHOIS := strings.CutPrefix(server, "whois://"); isWHOIS {
		return l.whois(ctx, address, name)
	}
	if server != "" {
		return l.rdap(ctx, server, name)
	}
	part, cancel := share(ctx, 2)
	server = l.e.registries.server(part, name)
	if server != "" {
		end, f = l.rdap(part, server, name)
	}
	cancel()
	if server != "" && (f == nil || f.Code == task.CodeDomainNotFound) || ctx.Err() != nil && f != nil {
		return end, f
	}
	return l.whois(ctx, l.e.registries.WHOIS, name)
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
func (l *look) rdap(ctx context.Context, server, name string) (end time.Time, f *reach.Fault) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(server, "/")+"/domain/"+url.PathEscape(name), nil)
	if err != nil {
		return end, reach.Misconfigured("domain.server", err)
	}
	req.Header.Set("Accept", "application/rdap+json, application/json")
	answer, f := l.Fetch(ctx, reach.Fetch{Request: req, MaxBody: maxRDAP})
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
func (l *look) whois(ctx context.Context, server, name string) (end time.Time, f *reach.Fault) {
	asked := map[string]bool{}
	for range maxReferrals + 1 {
		if _, _, err := net.SplitHostPort(server); err != nil {
			server = net.JoinHostPort(strings.Trim(server, "[]"), "43")
		}
		asked[server] = true
		text, f := l.askWHOIS(ctx, server, name)
		if f != nil {
			return end, f
		}
		l.Snapshot = func() *task.Snapshot { return l.Secrets.Keep("", nil, []byte(text)) }
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

func (l *look) askWHOIS(ctx context.Context, server, name string) (string, *reach.Fault) {
	trip, conn, leave, f := l.connect(ctx, server, task.FamilyAny)
	if f != nil {
		return "", f
	}
	defer leave()
	trip.Enter(reach.StageWrite)
	if _, err := io.WriteString(conn, name+"\r\n"); err != nil {
		return "", l.NetFault(ctx, trip, err)
	}
	trip.Enter(reach.StageWait)
	var text []byte
	chunk := make([]byte, 4<<10)
	for len(text) < maxWHOIS {
		n, err := conn.Read(chunk[:min(len(chunk), maxWHOIS-len(text))])
		if n > 0 {
			trip.Advance(reach.StageBody)
			text = append(text, chunk[:n]...)
		}
		if errors.Is(err, io.EOF) && len(text) > 0 {
			break
		}
		if err != nil {
			return "", l.NetFault(ctx, trip, err)
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// endLayouts are the ways in which registries write a date.
var endLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05", "2006-01-02",
	"2006/01/02 15:04:05", "2006/01/02", "2006.01.02 15:04:05", "2006.01.02", "2006. 01. 02", "20060102150405", "20060102", "2006-Jan-02",
	"02-Jan-2006 15:04:05 MST", "02-Jan-2006 15:04:05", "02-Jan-2006", "2.1.2006 15:04:05", "2.1.2006", "02/01/2006 15:04:05", "02/01/2006",
	"January 2 2006", "2 January 2006", "2 Jan 2006", "Mon Jan 2 2006", "Mon Jan 2 15:04:05 MST 2006", "Mon Jan 2 15:04:05 2006",
}

// parseEnd reads a date with or without what follows it. A day without a time is its first moment, in UTC.
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
