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
	belfry.CodeDNSNotFound: "DNS name not found", belfry.CodeDNSTimeout: "DNS timeout", belfry.CodeDNSFailed: "DNS lookup failed",
	belfry.CodeConnectRefused: "connection refused", belfry.CodeConnectTimeout: "connection timeout", belfry.CodeConnectFailed: "connection failed",
	belfry.CodeTLSHandshake: "TLS handshake failed", belfry.CodeTLSTimeout: "TLS timeout", belfry.CodeTLSExpired: "certificate expired",
	belfry.CodeTLSExpiring: "certificate expires soon", belfry.CodeTLSName: "certificate name mismatch", belfry.CodeTLSUntrusted: "certificate not trusted",
	belfry.CodeWrite: "request not sent", belfry.CodeFirstByte: "no response in time", belfry.CodeProtocol: "protocol error",
	belfry.CodeStatus: "unexpected status", belfry.CodeRedirectLimit: "too many redirects", belfry.CodeRedirectLoop: "redirect loop", belfry.CodeRedirectBlocked: "redirect to a private address",
	belfry.CodeBodyTimeout: "response body timeout", belfry.CodeBodyTooLarge: "response too large", belfry.CodeBodyBroken: "response cut off",
	belfry.CodeExpect: "unexpected response", belfry.CodeAssertion: "condition failed", belfry.CodeLoss: "packet loss", belfry.CodeTimeout: "timeout",
	belfry.CodeMissed: "missed heartbeat", belfry.CodeReported: "reported failure", belfry.CodeSelectorMissing: "selector found nothing", belfry.CodeEmpty: "no text",
	belfry.CodeBlocked: "address not allowed", belfry.CodeUnsupported: "not supported by the worker", belfry.CodeConfig: "invalid settings",
	belfry.CodeLost: "worker lost", belfry.CodeLate: "started too late", belfry.CodeNetwork: "worker has no network", belfry.CodeInternal: "internal error",
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
