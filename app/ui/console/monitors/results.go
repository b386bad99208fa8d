package monitors

import (
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

var phaseNames = []string{"look-up", "connect", "TLS", "first byte", "transfer"}

func phaseValues(p task.Phases) []core.Duration {
	return []core.Duration{p.DNS, p.Connect, p.TLS, p.FirstByte, p.Transfer}
}

type resultsData struct {
	monitorHead
	Results core.Page[view.MonitorResult]
	Outcome task.CheckOutcome
}

func monitorResults(p *page) error {
	ctx, name := p.R.Context(), p.R.PathValue("name")
	d := resultsData{monitorHead: monitorHead{At: "results"}, Outcome: task.CheckOutcome(p.Query("outcome"))}
	err := frame.Together(
		frame.Get(&d.V, func() (view.MonitorView, error) { return p.api.Monitor(ctx, p.Namespace, name) }),
		frame.Get(&d.Results, func() (core.Page[view.MonitorResult], error) {
			return p.api.Results(ctx, view.ResultFilter{
				Paging: core.Paging{Limit: resultsPerPage, Cursor: p.Query("cursor")}, Namespace: p.Namespace, Monitor: name, Outcome: d.Outcome,
			})
		}),
	)
	if err != nil {
		return err
	}
	return p.Show("monitor-results", d)
}

// OutcomeTabs are the views of results.
func (p *page) OutcomeTabs(d resultsData) []parts.Tab {
	tabs := []parts.Tab{parts.NewTab("All", p.Here("outcome", "", "cursor", ""), d.Outcome == "", "")}
	for _, o := range []task.CheckOutcome{task.CheckOK, task.CheckDegraded, task.CheckFail, task.CheckError} {
		tabs = append(tabs, parts.NewTab(outcomeWords[o], p.Here("outcome", o, "cursor", ""), d.Outcome == o, ""))
	}
	return tabs
}

var outcomeWords = map[task.CheckOutcome]string{
	task.CheckOK: "Good", task.CheckDegraded: "Degraded", task.CheckFail: "Failed", task.CheckError: "Not made",
}

// outcomeChip is the chip of the outcome of a check.
func outcomeChip(o task.CheckOutcome) parts.Chip {
	c := parts.NewChip(o)
	if o == task.CheckError {
		c = parts.NewChip("stale")
	}
	c.Word = strings.ToLower(outcomeWords[o])
	return c
}

// cause describes the code of a failed check.
func cause(code task.CheckCode) string {
	if text, is := causes[code]; is {
		return text
	}
	return parts.Words(code)
}

// why is why a check failed, said once: its message, which tells more than the code, or the code in words.
func why(code task.CheckCode, message string) string {
	if message != "" || code == "" {
		return message
	}
	return cause(code)
}

var causes = map[task.CheckCode]string{
	task.CodeDNSNotFound: "DNS name not found", task.CodeDNSTimeout: "DNS timeout", task.CodeDNSFailed: "DNS lookup failed",
	task.CodeConnectRefused: "connection refused", task.CodeConnectTimeout: "connection timeout", task.CodeConnectFailed: "connection failed",
	task.CodeTLSHandshake: "TLS handshake failed", task.CodeTLSTimeout: "TLS timeout", task.CodeTLSExpired: "certificate expired",
	task.CodeTLSExpiring: "certificate expires soon", task.CodeTLSName: "certificate name mismatch", task.CodeTLSUntrusted: "certificate not trusted",
	task.CodeWrite: "request not sent", task.CodeFirstByte: "no response in time", task.CodeProtocol: "protocol error",
	task.CodeStatus: "unexpected status", task.CodeRedirectLimit: "too many redirects", task.CodeRedirectLoop: "redirect loop", task.CodeRedirectBlocked: "redirect to a private address",
	task.CodeBodyTimeout: "response body timeout", task.CodeBodyTooLarge: "response too large", task.CodeBodyBroken: "response cut off",
	task.CodeExpect: "unexpected response", task.CodeAssertion: "condition failed", task.CodeLoss: "packet loss", task.CodeTimeout: "timeout",
	task.CodeMissed: "missed heartbeat", task.CodeReported: "reported failure", task.CodeSelectorMissing: "selector found nothing", task.CodeEmpty: "no text",
	task.CodeDomainNotFound: "domain not registered", task.CodeDomainExpired: "registration ended", task.CodeDomainExpiring: "registration ends soon", task.CodeDomainUnknown: "no answer of the registry",
	task.CodeBlocked: "address not allowed", task.CodeUnsupported: "not supported by the worker", task.CodeConfig: "invalid settings",
	task.CodeLost: "worker lost", task.CodeLate: "started too late", task.CodeNetwork: "worker has no network", task.CodeInternal: "internal error",
}

// phases are the parts of a latency, in words.
func phases(ph task.Phases) string {
	var pieces []string
	for i, v := range phaseValues(ph) {
		if v > 0 {
			pieces = append(pieces, phaseNames[i]+" "+parts.LatencyText(v))
		}
	}
	return strings.Join(pieces, ", ")
}
