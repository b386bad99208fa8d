package console

import (
	"strings"

	"github.com/belfry-run/belfry"
)

var phaseNames = []string{"look-up", "connect", "TLS", "first byte", "transfer"}

func phaseValues(p belfry.Phases) []belfry.Duration {
	return []belfry.Duration{p.DNS, p.Connect, p.TLS, p.FirstByte, p.Transfer}
}

type resultsData struct {
	monitorHead
	Results belfry.Page[belfry.CheckResult]
	Outcome belfry.CheckOutcome
}

func monitorResults(p *page) error {
	ctx, name := p.r.Context(), p.r.PathValue("name")
	d := resultsData{monitorHead: monitorHead{At: "results"}, Outcome: belfry.CheckOutcome(p.Query("outcome"))}
	err := p.together(
		get(&d.V, func() (belfry.MonitorView, error) { return p.api.Monitor(ctx, p.Namespace, name) }),
		get(&d.Results, func() (belfry.Page[belfry.CheckResult], error) {
			return p.api.Results(ctx, belfry.ResultFilter{
				Paging: belfry.Paging{Limit: resultsPerPage, Cursor: p.Query("cursor")}, Namespace: p.Namespace, Monitor: name, Outcome: d.Outcome,
			})
		}),
	)
	if err != nil {
		return err
	}
	return p.show("monitor-results", d)
}

// OutcomeTabs are the views of results.
func (p *page) OutcomeTabs(d resultsData) []tab {
	tabs := []tab{newTab("All", p.Here("outcome", "", "cursor", ""), d.Outcome == "", "")}
	for _, o := range []belfry.CheckOutcome{belfry.CheckOK, belfry.CheckDegraded, belfry.CheckFail, belfry.CheckError} {
		tabs = append(tabs, newTab(outcomeWords[o], p.Here("outcome", o, "cursor", ""), d.Outcome == o, ""))
	}
	return tabs
}

var outcomeWords = map[belfry.CheckOutcome]string{
	belfry.CheckOK: "Good", belfry.CheckDegraded: "Degraded", belfry.CheckFail: "Failed", belfry.CheckError: "Not made",
}

// OutcomeChip is what a check came to.
func (p *page) OutcomeChip(o belfry.CheckOutcome) chip {
	c := newChip(o)
	if o == belfry.CheckError {
		c = newChip("stale")
	}
	c.Word = strings.ToLower(outcomeWords[o])
	return c
}

// Cause is what was wrong, in words.
func (p *page) Cause(code belfry.CheckCode) string {
	if text, is := causes[code]; is {
		return text
	}
	return words(code)
}

var causes = map[belfry.CheckCode]string{
	belfry.CodeDNSNotFound: "no such name", belfry.CodeDNSTimeout: "the name server did not answer", belfry.CodeDNSFailed: "the name was not found out",
	belfry.CodeConnectRefused: "connection refused", belfry.CodeConnectTimeout: "no connection in time", belfry.CodeConnectFailed: "no connection",
	belfry.CodeTLSHandshake: "TLS failed", belfry.CodeTLSTimeout: "TLS took too long", belfry.CodeTLSExpired: "the certificate has expired",
	belfry.CodeTLSExpiring: "the certificate expires soon", belfry.CodeTLSName: "the certificate is for another name", belfry.CodeTLSUntrusted: "nobody trusts the certificate",
	belfry.CodeWrite: "the request was not taken", belfry.CodeFirstByte: "no answer in time", belfry.CodeProtocol: "not the protocol",
	belfry.CodeStatus: "another status", belfry.CodeRedirectLimit: "too many redirects", belfry.CodeRedirectLoop: "redirects in a circle", belfry.CodeRedirectBlocked: "a redirect to a private address",
	belfry.CodeBodyTimeout: "the answer did not end in time", belfry.CodeBodyTooLarge: "the answer is too large", belfry.CodeBodyBroken: "the answer broke off",
	belfry.CodeExpect: "another answer", belfry.CodeAssertion: "a condition does not hold", belfry.CodeLoss: "packets were lost", belfry.CodeTimeout: "too slow",
	belfry.CodeMissed: "no call in time", belfry.CodeReported: "it said so itself", belfry.CodeSelectorMissing: "the selector finds nothing", belfry.CodeEmpty: "no text",
	belfry.CodeBlocked: "the address may not be reached", belfry.CodeUnsupported: "the worker cannot do this", belfry.CodeConfig: "the settings cannot work",
	belfry.CodeLost: "the worker was lost", belfry.CodeLate: "begun too late", belfry.CodeNetwork: "the worker is cut off", belfry.CodeInternal: "a fault of ours",
}

// Phases are the parts of a latency, in words.
func (p *page) Phases(ph belfry.Phases) string {
	var parts []string
	for i, v := range phaseValues(ph) {
		if v > 0 {
			parts = append(parts, phaseNames[i]+" "+latencyText(v))
		}
	}
	return strings.Join(parts, ", ")
}
