package task

import (
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
)

// CheckResult is the outcome of one check of a target. A worker reports it with
// the end of an attempt.
type CheckResult struct {
	Outcome    CheckOutcome      `json:"outcome" enum:"ok,degraded,fail,error"`
	Code       CheckCode         `json:"code,omitempty" doc:"Stable name of what was wrong"`
	Message    string            `json:"message,omitempty" doc:"The same for people; at most 1 KiB"`
	Latency    core.Duration     `json:"latency,omitempty" doc:"From the begin of the name's look-up to the last byte, over all hops; without the time in a queue"`
	Phases     Phases            `json:"phases,omitzero" doc:"Parts of the latency, summed over hops"`
	Hops       []Hop             `json:"hops,omitempty" doc:"For a request that was redirected: each of its requests"`
	IP         string            `json:"ip,omitempty" doc:"Address that was dialed last"`
	Status     int               `json:"status,omitempty" doc:"Status code of the last answer"`
	Conditions []ConditionResult `json:"conditions,omitempty" doc:"What each condition and warning came to"`
	CertEnd    time.Time         `json:"cert_end,omitzero" doc:"When the first certificate of the chain ends"`
	Snapshot   *Snapshot         `json:"snapshot,omitempty" doc:"What came back, when it was not as wanted"`
	Page       *PageSeen         `json:"page,omitempty" doc:"For kind page"`
	Starved    bool              `json:"starved,omitempty" doc:"The worker had no time to look: the latency is not the target's"`
}

// CheckOutcome is the outcome of a check. An error is a fault of Belfry or
// undecidable, and never makes a target down.
type CheckOutcome string

// The outcomes.
const (
	CheckOK       CheckOutcome = "ok"
	CheckDegraded CheckOutcome = "degraded"
	CheckFail     CheckOutcome = "fail"
	CheckError    CheckOutcome = "error"
)

// CheckCode is a stable name of a problem.
type CheckCode string

// The codes. Codes after CodeBlocked are faults of the worker or of the
// definition, and belong to the outcome error.
const (
	CodeDNSNotFound     CheckCode = "dns_nxdomain"
	CodeDNSTimeout      CheckCode = "dns_timeout"
	CodeDNSFailed       CheckCode = "dns_failed"
	CodeConnectRefused  CheckCode = "connect_refused"
	CodeConnectTimeout  CheckCode = "connect_timeout"
	CodeConnectFailed   CheckCode = "connect_failed"
	CodeTLSHandshake    CheckCode = "tls_handshake"
	CodeTLSTimeout      CheckCode = "tls_timeout"
	CodeTLSExpired      CheckCode = "tls_expired"
	CodeTLSExpiring     CheckCode = "tls_expiring"
	CodeTLSName         CheckCode = "tls_name"
	CodeTLSUntrusted    CheckCode = "tls_untrusted"
	CodeWrite           CheckCode = "write"
	CodeFirstByte       CheckCode = "ttfb_timeout"
	CodeProtocol        CheckCode = "protocol"
	CodeStatus          CheckCode = "status"
	CodeRedirectLimit   CheckCode = "redirect_limit"
	CodeRedirectLoop    CheckCode = "redirect_loop"
	CodeRedirectBlocked CheckCode = "redirect_blocked" // redirected to an address that is not public
	CodeBodyTimeout     CheckCode = "body_timeout"
	CodeBodyTooLarge    CheckCode = "body_too_large"
	CodeBodyBroken      CheckCode = "body_broken"
	CodeExpect          CheckCode = "expect" // an unexpected answer, not of HTTP
	CodeAssertion       CheckCode = "assertion"
	CodeLoss            CheckCode = "packet_loss"
	CodeTimeout         CheckCode = "timeout"
	CodeMissed          CheckCode = "missed"   // a missing heartbeat
	CodeReported        CheckCode = "reported" // a heartbeat that reported a failure, or a command that failed
	CodeSelectorMissing CheckCode = "selector_missing"
	CodeEmpty           CheckCode = "empty"

	CodeBlocked     CheckCode = "blocked_policy"
	CodeUnsupported CheckCode = "unsupported"
	CodeConfig      CheckCode = "config"
	CodeLost        CheckCode = "lost"
	CodeLate        CheckCode = "late"
	CodeNetwork     CheckCode = "no_network" // the worker itself is cut off
	CodeInternal    CheckCode = "internal"
)

// Phases are the parts of a latency. Their sum is the latency, except for short
// times of computing. A phase that did not happen is zero. The latency of a ping
// is the mean of its requests, and does not include the look-up.
type Phases struct {
	DNS       core.Duration `json:"dns,omitempty"`
	Connect   core.Duration `json:"connect,omitempty"`
	TLS       core.Duration `json:"tls,omitempty"`
	FirstByte core.Duration `json:"first_byte,omitempty" doc:"From the connection to the first byte of the answer, sending included"`
	Transfer  core.Duration `json:"transfer,omitempty"`
}

// Hop is one request of a chain of redirects.
type Hop struct {
	URL    string        `json:"url" doc:"Without secrets"`
	Status int           `json:"status"`
	IP     string        `json:"ip,omitempty"`
	Phases Phases        `json:"phases,omitzero"`
	Took   core.Duration `json:"took"`
}

// ConditionResult is the result of one expression.
type ConditionResult struct {
	Text    string `json:"text"`
	Holds   bool   `json:"holds"`
	Warning bool   `json:"warning,omitempty"`
	Value   string `json:"value,omitempty" doc:"What its parts were, such as latency = 812ms"`
	Error   string `json:"error,omitempty" doc:"Why it could not be judged"`
}

// Snapshot is an answer of a target, stored for people: truncated, and without
// secrets.
type Snapshot struct {
	Status  string            `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Cut     bool              `json:"cut,omitempty"`
}

// PageSeen is the checked part of a page in comparable form.
type PageSeen struct {
	Outcome    PageOutcome `json:"outcome" enum:"seen,selector_missing,empty"`
	Digest     string      `json:"digest,omitempty" doc:"SHA-256 of the text"`
	RawDigest  string      `json:"raw_digest,omitempty" doc:"SHA-256 of the document as it came"`
	ConfigHash string      `json:"config_hash" doc:"Of the settings and the normaliser's version: texts of different ones are not compared"`
	Text       string      `json:"text,omitempty"`
	Matches    int         `json:"matches" doc:"Elements that the selector found"`
	Cut        bool        `json:"cut,omitempty"`
}

// PageOutcome is the outcome of a page check before the comparison with a
// baseline.
type PageOutcome string

// The outcomes.
const (
	PageText            PageOutcome = "seen"
	PageSelectorMissing PageOutcome = "selector_missing"
	PageEmpty           PageOutcome = "empty"
)

// Limits of a check result.
const (
	MaxCheckMessage  = 1 << 10
	MaxSnapshot      = 16 << 10
	MaxSnapshotLines = 40 // headers
	MaxHops          = 51
)

// maxHopURL and maxName are the longest texts of a result without another limit.
const (
	maxHopURL = 2 << 10
	maxName   = 64 // of a code, an address, a digest
)

// Bounded returns the result within the limits for storing. Workers are not
// trusted: an unknown outcome becomes an error, and texts, lists and numbers are
// cut to the largest that an honest worker reports.
func (m CheckResult) Bounded() CheckResult {
	switch m.Outcome {
	case CheckOK, CheckDegraded, CheckFail, CheckError:
	default:
		m.Outcome, m.Code = CheckError, CodeInternal
	}
	short := func(s string, limit int) string { s, _ = core.CleanText(s, limit); return s }
	m.Message, m.Code, m.IP = short(m.Message, MaxCheckMessage), CheckCode(short(string(m.Code), maxName)), short(m.IP, maxName)
	took := func(d core.Duration) core.Duration { return min(max(d, 0), MaxTimeout) }
	m.Latency = took(m.Latency)
	p := &m.Phases
	p.DNS, p.Connect, p.TLS, p.FirstByte, p.Transfer = took(p.DNS), took(p.Connect), took(p.TLS), took(p.FirstByte), took(p.Transfer)
	m.Hops = slices.Clone(m.Hops[:min(len(m.Hops), MaxHops)])
	for i := range m.Hops {
		h := &m.Hops[i]
		h.URL, h.IP, h.Took = short(h.URL, maxHopURL), short(h.IP, maxName), took(h.Took)
	}
	m.Conditions = slices.Clone(m.Conditions[:min(len(m.Conditions), 2*MaxConditions)])
	for i := range m.Conditions {
		c := &m.Conditions[i]
		c.Text, c.Value, c.Error = short(c.Text, MaxCondition), short(c.Value, MaxCheckMessage), short(c.Error, MaxCheckMessage)
	}
	if m.Snapshot != nil {
		s := *m.Snapshot
		body, cut := core.CleanText(s.Body, MaxSnapshot)
		s.Status, s.Body, s.Cut = short(s.Status, MaxCheckMessage), body, s.Cut || cut
		if names := slices.Sorted(maps.Keys(s.Headers)); len(names) > 0 {
			given := s.Headers
			s.Headers = map[string]string{}
			for _, name := range names[:min(len(names), MaxSnapshotLines)] {
				s.Headers[short(name, MaxCheckMessage)] = short(given[name], MaxCheckMessage)
			}
			s.Cut = s.Cut || len(names) > MaxSnapshotLines
		}
		m.Snapshot = &s
	}
	if m.Page != nil {
		p := *m.Page
		p.Text = short(p.Text, MaxPageText)
		p.Digest, p.RawDigest, p.ConfigHash = short(p.Digest, maxName), short(p.RawDigest, maxName), short(p.ConfigHash, maxName)
		m.Page = &p
	}
	return m
}

// Probed is the result of a dry run, outside of any monitor.
type Probed struct {
	CheckResult
	Started time.Time `json:"started"`
}
