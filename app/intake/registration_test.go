package intake_test

import (
	"fmt"
	"testing"

	"github.com/belfry-run/belfry/app/intake"
)

// registrations are the monitors of domains, each with its limits and those whom its alert rules name it to.
func registrations(r intake.Result) (list []string) {
	for _, m := range r.Manifest.Monitors {
		d := m.Check.Domain
		if d == nil {
			continue
		}
		text := fmt.Sprintf("%s %s %d %d %v", m.Name, d.Name, d.WarnDays, d.FailDays, m.Muted)
		for _, rule := range r.Manifest.AlertRules {
			for _, name := range rule.Monitors {
				if name == m.Name {
					text += " " + rule.Name
				}
			}
		}
		list = append(list, text)
	}
	return list
}

// A condition on the registration is a monitor of the domain, which endpoints share.
func TestGatusRegistrations(t *testing.T) {
	r := read(t, intake.Gatus, `
alerting:
  slack: {webhook-url: "https://hooks.example.com/a"}
  discord: {webhook-url: "https://hooks.example.com/b"}
endpoints:
  - {name: a, url: "https://a.example.com", conditions: ["[STATUS] == 200", "[DOMAIN_EXPIRATION] > 720h"], alerts: [{type: slack}]}
  - {name: b, url: "https://www.b.example.com", conditions: ["720h <= [DOMAIN_EXPIRATION]"], alerts: [{type: slack}, {type: discord}]}
  - {name: c, url: "tcp://c.example.co.uk:25", conditions: ["[DOMAIN_EXPIRATION] > 1h", "[DOMAIN_EXPIRATION] > 30h"]}
  - {name: d, url: "https://d.github.io", enabled: false, conditions: ["[DOMAIN_EXPIRATION] > 0"]}
  - {name: e, url: "https://192.0.2.1", conditions: ["[DOMAIN_EXPIRATION] > 720h"]}
`)
	same(t, "monitors of domains", registrations(r), []string{
		"example.com-registration example.com -1 30 false slack discord",
		"example.co.uk-registration example.co.uk -1 2 false",
		"github.io-registration github.io -1 0 true",
	})
}

func TestKumaRegistrations(t *testing.T) {
	r := read(t, intake.Kuma, `{"notificationList": [{"id": 1, "name": "chat", "config": "{\"type\":\"slack\",\"slackwebhookURL\":\"https://hooks.example.com/a\"}"}],
"monitorList": [
  {"id": 1, "name": "a", "type": "http", "url": "https://a.example.com", "domainExpiryNotification": true, "notificationIDList": {"1": true}},
  {"id": 2, "name": "b", "type": "port", "url": "https://", "hostname": "b.example.com", "port": 25, "domainExpiryNotification": 1, "notificationIDList": {"1": true}},
  {"id": 3, "name": "c", "type": "http", "url": "https://c.example.org", "domainExpiryNotification": false},
  {"id": 4, "name": "d", "type": "ping", "hostname": "router", "domainExpiryNotification": true}
]}`)
	same(t, "monitors of domains", registrations(r), []string{"example.com-registration example.com 0 0 false chat"})
}
