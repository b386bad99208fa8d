package task

import (
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// Domain asks the registry of a domain for the end of its registration: by RDAP (RFC 9082, 9083), or by WHOIS (RFC 3912) if
// RDAP has no server or no answer.
type Domain struct {
	Name     string `json:"name" doc:"Registered domain, such as example.com"`
	Server   string `json:"server,omitempty" doc:"URL of an RDAP server, or whois://host[:port]; default: the registry's, by IANA"`
	WarnDays int    `json:"warn_days,omitempty" doc:"Degraded when the registration ends sooner; default: 14; -1: never"`
	FailDays int    `json:"fail_days,omitempty" doc:"Failed when the registration ends sooner; default: 0, when it has ended"`
}

// Codes of a domain.
const (
	CodeDomainNotFound CheckCode = "domain_not_found"
	CodeDomainExpired  CheckCode = "domain_expired"
	CodeDomainExpiring CheckCode = "domain_expiring"
	CodeDomainUnknown  CheckCode = "domain_unknown" // the registry gave no answer: an error, not a failure
)

func (d Domain) withDefaults() Domain {
	d.Name = strings.ToLower(strings.TrimSuffix(d.Name, "."))
	d.WarnDays = core.Or(d.WarnDays, DefaultWarnDays)
	return d
}

func (d Domain) validate() error {
	var p core.Problems
	if len(d.Name) > 253 || !strings.Contains(strings.Trim(d.Name, "."), ".") || strings.HasPrefix(d.Name, ".") || strings.Contains(d.Name, "..") || strings.ContainsAny(d.Name, " \t\r\n\x00/:?#@%") {
		p.Add("name", d.Name, "is not a registered domain", "such as example.com")
	}
	if d.Server != "" {
		core.CheckURL(&p, "server", d.Server, "http", "https", "whois")
		if u, err := url.Parse(d.Server); err == nil && u.Scheme == "whois" && u.Path != "" {
			p.Add("server", d.Server, "has a path, and WHOIS has none", "such as whois://whois.nic.example")
		}
	}
	if d.WarnDays < -1 || d.WarnDays > 3650 || d.FailDays < 0 || d.FailDays > 3650 {
		p.Addf("warn_days", d.WarnDays, "or fail_days is outside 0 to 3650")
	}
	return p.Err("domain")
}

var domainKind = KindInfo{
	Kind: KindDomain, Title: "Domain", Flag: "domain", Text: "Asks the registry when the registration of a domain ends.",
	Values: "latency dns_time connect_time tls_time first_byte transfer ip domain_days",
	Every:  core.Duration(24 * time.Hour), // registries answer few requests of an address, and a refused one counts as a failure
	Fields: []setting.Field{
		{Path: "name", Flag: "domain", Usage: "registered domain whose end is looked up, by RDAP or WHOIS", Label: "Domain", Need: true, Hint: "Such as example.com"},
		{Path: "warn_days", As: setting.Number, Flag: "warn-days", Usage: "degraded when the certificate or registration ends sooner; -1: never; default: 14", Label: "Degraded within", Hint: "Days before the registration ends. Default: 14; -1: never."},
		{Path: "fail_days", As: setting.Number, Flag: "fail-days", Usage: "failed when the certificate or registration ends sooner; default: when it has ended", Label: "Failed within", Hint: "Days before the registration ends. Default: when it has ended."},
		{Path: "server", Flag: "registry", Usage: "URL of an RDAP server, or whois://HOST; default: the registry's, by IANA", Label: "Server", Hint: "URL of an RDAP server, or whois://host. Default: the registry's, by IANA.", More: true},
	},
	part:   setting.At(func(t *Task) **Domain { return &t.Domain }, Domain.withDefaults, Domain.validate),
	target: func(t Task) Target { return addressed("domain", "Look up the registration of ", t.Domain.Name) },
	facts: func(t Task) (f setting.Facts) {
		f.Add(t.Domain.WarnDays > 0, "Degraded", "when the registration ends within %d days", t.Domain.WarnDays)
		f.Add(t.Domain.FailDays > 0, "Fails", "when the registration ends within %d days", t.Domain.FailDays)
		f.Add(t.Domain.Server != "", "Asks", "%s", t.Domain.Server)
		return f
	},
}
