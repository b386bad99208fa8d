package probe_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/task"
)

// whois answers each query with the result of the function.
func whois(t *testing.T, answer func(query string) string) (address string) {
	t.Helper()
	return raw(t, func(c net.Conn) {
		query, err := bufio.NewReader(c).ReadString('\n')
		if err == nil {
			_, _ = io.WriteString(c, answer(strings.TrimSuffix(query, "\r\n")))
		}
	})
}

func in(days int) time.Time {
	return time.Now().UTC().Add(time.Duration(days)*24*time.Hour + time.Hour)
}

// rdapServer knows domains by name, and lists itself for the ending example.
func rdapServer(t *testing.T, end time.Time) (bootstrap string) {
	t.Helper()
	mux := http.NewServeMux()
	s := serve(t, mux.ServeHTTP)
	mux.HandleFunc("/dns.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"version":"1.0","services":[[["other"],["http://127.0.0.1:1/"]],[["example"],[%q]]]}`, s.URL+"/rdap/")
	})
	mux.HandleFunc("/rdap/domain/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/rdap+json")
		switch r.PathValue("name") {
		case "shop.example", "xn--bcher-kva.example":
			_, _ = fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":"SHOP.EXAMPLE","events":[{"eventAction":"registration","eventDate":"1997-09-15T04:00:00Z"},
				{"eventAction":"expiration","eventDate":%q},{"eventAction":"last changed","eventDate":"2019-09-09T15:39:04Z"}]}`, end.Format("2006-01-02T15:04:05.000Z"))
		case "silent.example":
			_, _ = io.WriteString(w, `{"events":[]}`)
		case "broken.example":
			_, _ = io.WriteString(w, `<html>`)
		case "busy.example":
			w.WriteHeader(http.StatusTooManyRequests)
		case "large.example":
			_, _ = io.WriteString(w, strings.Repeat(" ", 2<<20))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	return s.URL + "/dns.json"
}

func TestDomainByRDAP(t *testing.T) {
	t.Parallel()
	bootstrap := rdapServer(t, in(10))
	server := strings.TrimSuffix(bootstrap, "dns.json") + "rdap/"
	fallback := whois(t, func(string) string { return "Registry Expiry Date: " + in(100).Format(time.RFC3339) + "\r\n" })
	roots := func(o *probe.Options) { o.Registries = probe.Registries{RDAP: bootstrap, WHOIS: fallback} }
	for name, c := range map[string]struct {
		domain  task.Domain
		holds   string
		outcome task.CheckOutcome
		code    task.CheckCode
		text    string
	}{
		"soon":             {task.Domain{Name: "Shop.example."}, "", task.CheckDegraded, task.CodeDomainExpiring, "in 10 days"},
		"too soon":         {task.Domain{Name: "shop.example", FailDays: 11}, "", task.CheckFail, task.CodeDomainExpiring, "in 10 days"},
		"long enough":      {task.Domain{Name: "shop.example", WarnDays: 9}, "domain_days == 10", task.CheckOK, "", ""},
		"never warned":     {task.Domain{Name: "shop.example", WarnDays: -1}, "", task.CheckOK, "", ""},
		"condition":        {task.Domain{Name: "shop.example", WarnDays: -1}, "domain_days > 30", task.CheckFail, task.CodeAssertion, "domain_days = 10"},
		"other letters":    {task.Domain{Name: "b\u00fccher.example", WarnDays: -1}, "domain_days == 10", task.CheckOK, "", ""},
		"a server":         {task.Domain{Name: "shop.example", Server: server}, "", task.CheckDegraded, task.CodeDomainExpiring, ""},
		"not registered":   {task.Domain{Name: "free.example"}, "", task.CheckFail, task.CodeDomainNotFound, "is not registered"},
		"no date":          {task.Domain{Name: "silent.example", Server: server}, "", task.CheckError, task.CodeUnsupported, "does not say"},
		"not JSON":         {task.Domain{Name: "broken.example", Server: server}, "", task.CheckError, task.CodeDomainUnknown, "the registry gave no answer: the RDAP server's answer is not JSON"},
		"busy":             {task.Domain{Name: "busy.example", Server: server}, "", task.CheckError, task.CodeDomainUnknown, "429"},
		"too large":        {task.Domain{Name: "large.example", Server: server}, "", task.CheckError, task.CodeDomainUnknown, ""},
		"denied":           {task.Domain{Name: "shop.example", Server: "http://10.0.0.1/"}, "", task.CheckError, task.CodeBlocked, "may not be reached"},
		"no date, WHOIS":   {task.Domain{Name: "silent.example"}, "domain_days == 100", task.CheckOK, "", ""},
		"not JSON, WHOIS":  {task.Domain{Name: "broken.example"}, "domain_days == 100", task.CheckOK, "", ""},
		"busy, WHOIS":      {task.Domain{Name: "busy.example"}, "domain_days == 100", task.CheckOK, "", ""},
		"no server, WHOIS": {task.Domain{Name: "shop.test"}, "domain_days == 100", task.CheckOK, "", ""},
		"does not listen":  {task.Domain{Name: "shop.other"}, "domain_days == 100", task.CheckOK, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tk := task.Task{Domain: &c.domain}
			if c.holds != "" {
				tk.Conditions = []string{c.holds}
			}
			wants(t, look(t, tk, roots), c.outcome, c.code, c.text)
		})
	}
}

// The answers are pieces of those of registries, with the ways in which they write dates.
func TestDomainByWHOIS(t *testing.T) {
	t.Parallel()
	end := in(40)
	registry := whois(t, func(query string) string {
		name, _, _ := strings.Cut(query, ".")
		return map[string]string{
			"com":  "   Domain Name: COM.TEST\r\n   Updated Date: 2019-09-09T15:39:04Z\r\n   Creation Date: 1997-09-15T04:00:00Z\r\n   Registry Expiry Date: " + end.Format("2006-01-02T15:04:05Z") + "\r\n   Registrar: X\r\n",
			"uk":   "    Relevant dates:\r\n        Registered on: 14-Feb-1999\r\n        Expiry date:  " + end.Format("02-Jan-2006") + "\r\n",
			"jp":   "[Domain Name]  JP.TEST\n[\u767b\u9332\u5e74\u6708\u65e5]  2001/05/31\n[\u6709\u52b9\u671f\u9650]  " + end.Format("2006/01/02") + "\n",
			"ru":   "domain:        RU.TEST\nstate:         REGISTERED\ncreated:       1997-09-23T09:45:07Z\npaid-till:     " + end.Format(time.RFC3339) + "\nfree-date:     2030-01-01\n",
			"br":   "domain:      br.test\ncreated:     19990518 #122\nexpires:     " + end.Format("20060102") + "\n",
			"pl":   "DOMAIN NAME:           pl.test\nrenewal date:          " + end.Format("2006.01.02 15:04:05") + "\n",
			"fi":   "domain.............: fi.test\nexpires............: " + end.Format("2.1.2006 15:04:05") + "\n",
			"tr":   "Created on..............: 2001-Aug-23.\nExpires on..............: " + end.Format("2006-Jan-02") + ".\n",
			"kr":   "Expiration Date             : " + end.Format("2006. 01. 02.") + "\n",
			"cn":   "Registration Time: 2003-03-17 12:20:05\nExpiration Time: " + end.Format("2006-01-02 15:04:05") + "\n",
			"cz":   "registered:   14.09.1998 02:00:00\nexpire:       " + end.Format("02.01.2006") + "\n",
			"free": "No match for domain \"FREE.TEST\".\r\n", "none": "% No entries found for query \"none.test\".\n",
			"quiet": "domain: quiet.test\nstatus: connect\n", "bad": "Registry Expiry Date: soon\n", "gone": "Expiry Date: 2001-01-01\n",
		}[name]
	})
	iana := whois(t, func(string) string {
		return "% IANA WHOIS server\n\nrefer:        " + registry + "\n\ndomain:       TEST\nwhois:        " + registry + "\nstatus:       ACTIVE\n"
	})
	circle := ""
	circle = whois(t, func(string) string { return "refer: " + circle + "\n" })
	roots := func(o *probe.Options) {
		o.Registries = probe.Registries{RDAP: "http://127.0.0.1:1/dns.json", WHOIS: iana}
	}
	for _, name := range strings.Fields("com uk jp ru br pl fi tr kr cn cz") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tk := task.Task{Domain: &task.Domain{Name: name + ".test"}, Conditions: []string{"domain_days >= 39 and domain_days <= 40"}}
			wants(t, look(t, tk, roots), task.CheckOK, "", "")
		})
	}
	for name, c := range map[string]struct {
		domain  task.Domain
		outcome task.CheckOutcome
		code    task.CheckCode
		text    string
	}{
		"not registered":     {task.Domain{Name: "free.test"}, task.CheckFail, task.CodeDomainNotFound, "is not registered"},
		"not registered too": {task.Domain{Name: "none.test"}, task.CheckFail, task.CodeDomainNotFound, "is not registered"},
		"no date":            {task.Domain{Name: "quiet.test"}, task.CheckError, task.CodeUnsupported, "does not say"},
		"no real date":       {task.Domain{Name: "bad.test"}, task.CheckError, task.CodeUnsupported, "does not say"},
		"expired":            {task.Domain{Name: "gone.test"}, task.CheckFail, task.CodeDomainExpired, "ended on 2001-01-01"},
		"a server":           {task.Domain{Name: "gone.test", Server: "whois://" + registry}, task.CheckFail, task.CodeDomainExpired, ""},
		"a circle":           {task.Domain{Name: "a.test", Server: "whois://" + circle}, task.CheckError, task.CodeUnsupported, ""},
		"no word":            {task.Domain{Name: "empty.test"}, task.CheckError, task.CodeDomainUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wants(t, look(t, task.Task{Domain: &c.domain}, roots), c.outcome, c.code, c.text)
		})
	}
}

func TestWHOISThatStalls(t *testing.T) {
	t.Parallel()
	m := stalls(t, task.Task{Domain: &task.Domain{Name: "a.test", Server: "whois://" + raw(t, hold)}}, task.CodeDomainUnknown)
	wants(t, m, task.CheckError, task.CodeDomainUnknown, "waiting for the first byte")
}
