package monitors

import (
	"net/url"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// What cannot be read stands at its field, in words for people.
func TestADocumentFormReportsUnreadableFields(t *testing.T) {
	inputs := append(forms.InputsOf(monitorGroups(task.KindHTTP, false)), forms.Input{Path: "from", Kind: forms.AsTime})
	for _, tt := range []struct{ path, text, says string }{
		{"check.http.max_redirects", "1.5", "whole number"}, {"check.http.max_redirects", "NaN", "whole number"}, {"confirm.failures", "1e30", "whole number"},
		{"confirm.failures", "99999999999", "whole number"}, {"every", "soon", "length of time"}, {"check.http.headers", "X-Key", "colon"}, {"from", "tomorrow", "not a time"},
	} {
		faults := parts.FaultsOf(forms.Document{}.Read(inputs, url.Values{tt.path: {tt.text}}))
		if len(faults) != 1 || faults[0].Field != tt.path || !strings.Contains(faults[0].Message, tt.says) {
			t.Errorf("%s %q: %+v", tt.path, tt.text, faults)
		}
	}
	// What a rule cannot be is refused as a rule, with its place.
	for _, line := range []string{`{"cron":5}`, `{"cron"`, "soon"} {
		var m monitor.Monitor
		d := forms.Document{}
		if err := d.Read(inputs, url.Values{"rules": {"0 9 * * *\n" + line}}); err != nil {
			t.Fatal(err)
		}
		if err := d.To(&m); err != nil || len(m.Rules) != 2 || m.Rules[1].Cron != line {
			t.Errorf("%s: %v, %+v", line, err, m.Rules)
		}
	}
	var m monitor.Monitor
	d := forms.Document{}
	if err := d.Read(inputs, url.Values{"check.http.max_redirects": {"-1"}, "rules": {`{"every":"1h"}`}}); err != nil {
		t.Fatal(err)
	}
	if err := d.To(&m); err != nil || m.Check.HTTP.MaxRedirects != -1 || len(m.Rules) != 1 || m.Rules[0].Every.String() != "1h" {
		t.Errorf("%v, %+v", err, m)
	}
}
