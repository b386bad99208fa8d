package forms

import "github.com/belfry-run/belfry/task"

// KindInputs are the settings of a kind: those that matter, and the others.
var KindInputs = map[task.Kind][2][]Input{
	task.KindHTTP: {{
		{Path: "check.http.url", Label: "Address", Need: true, Hint: "https://example.com/health"},
		{Path: "check.http.method", Label: "Method", Kind: AsChoice, Options: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}},
		{Path: "check.http.expect_status", Label: "Good status", Kind: AsWords, Hint: "Codes and ranges, such as 200-299, 404. Default: 200-299."},
		{Path: "check.http.expect_body", Label: "Body matches", Hint: "A regular expression (RE2). Empty: anything."},
	}, {
		{Path: "check.http.headers", Label: "Headers", Kind: asPairs, Hint: "One a line: Name: value. Anyone who may read sees them; secrets belong below."},
		{Path: "check.http.body", Label: "Body", Kind: AsArea},
		{Path: "check.http.auth.user", Label: "User", Hint: "For basic authentication."},
		{Path: "check.http.auth.password", Label: "Password", Kind: AsSecret, Hint: SecretHint},
		{Path: "check.http.auth.bearer", Label: "Bearer token", Kind: AsSecret, Hint: "Instead of user and password. " + SecretHint},
		{Path: "check.http.max_redirects", Label: "Redirects", Kind: AsNumber, Hint: "At most so many; -1: none is followed."},
		{Path: "check.http.family", Label: "Addresses", Kind: AsChoice, Options: []string{"any", "ipv4", "ipv6"}},
		{Path: "check.http.server_name", Label: "Name for TLS", Hint: "Default: the host of the address."},
		{Path: "check.http.skip_verify", Label: "Accept any certificate", Kind: AsCheck},
	}},
	task.KindTCP: {{
		{Path: "check.tcp.address", Label: "Address", Need: true, Hint: "host:port, such as db.example.com:5432"},
		{Path: "check.tcp.send", Label: "Send", Hint: `Text sent after connecting; \r, \n and \x00 are read as in Go.`},
		{Path: "check.tcp.expect", Label: "Answer matches", Hint: "A regular expression (RE2). Empty: a connection is enough."},
	}, {{Path: "check.tcp.family", Label: "Addresses", Kind: AsChoice, Options: []string{"any", "ipv4", "ipv6"}}}},
	task.KindDNS: {{
		{Path: "check.dns.name", Label: "Name", Need: true, Hint: "Such as example.com"},
		{Path: "check.dns.type", Label: "Record", Kind: AsChoice, Options: []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"}},
		{Path: "check.dns.expect", Label: "Answers", Kind: AsLines, Hint: "One a line; all of them must come, in any order. Empty: any answer."},
		{Path: "check.dns.exact", Label: "No other answers", Kind: AsCheck},
	}, {
		{Path: "check.dns.server", Label: "Resolver", Hint: "Such as 9.9.9.9. Default: the worker's own."},
		{Path: "check.dns.tcp", Label: "Ask over TCP", Kind: AsCheck},
	}},
	task.KindTLS: {{
		{Path: "check.tls.address", Label: "Address", Need: true, Hint: "host:port; port 443 if left out"},
		{Path: "check.tls.warn_days", Label: "Degraded within", Kind: AsNumber, Hint: "Days before a certificate of the chain ends. Default: 14; -1: never."},
		{Path: "check.tls.fail_days", Label: "Failed within", Kind: AsNumber, Hint: "Days before a certificate of the chain ends. Default: when it has ended."},
	}, {
		{Path: "check.tls.server_name", Label: "Name", Hint: "Default: the host of the address."},
		{Path: "check.tls.starttls", Label: "Ask for TLS first", Kind: AsChoice, Options: []string{"", "smtp", "imap", "pop3", "ftp", "postgres"}},
	}},
	task.KindPing: {{
		{Path: "check.ping.host", Label: "Host", Need: true, Hint: "A name or an address"},
		{Path: "check.ping.count", Label: "Requests", Kind: AsNumber, Hint: "Default: 3."},
		{Path: "check.ping.max_loss", Label: "Loss", Kind: AsNumber, Hint: "Per cent of the requests that may stay unanswered. Default: 0."},
	}, {{Path: "check.ping.family", Label: "Addresses", Kind: AsChoice, Options: []string{"any", "ipv4", "ipv6"}}}},
	task.KindGRPC: {{
		{Path: "check.grpc.address", Label: "Address", Need: true, Hint: "host:port"},
		{Path: "check.grpc.service", Label: "Service", Hint: "Default: the server as a whole."},
	}, {
		{Path: "check.grpc.plaintext", Label: "Without TLS", Kind: AsCheck},
		{Path: "check.grpc.server_name", Label: "Name for TLS"},
		{Path: "check.grpc.skip_verify", Label: "Accept any certificate", Kind: AsCheck},
	}},
	task.KindWebSocket: {{
		{Path: "check.websocket.url", Label: "Address", Need: true, Hint: "wss://example.com/socket"},
		{Path: "check.websocket.send", Label: "Send", Hint: "A text message, after the upgrade."},
		{Path: "check.websocket.expect", Label: "A message matches", Hint: "A regular expression (RE2)."},
	}, {{Path: "check.websocket.headers", Label: "Headers", Kind: asPairs, Hint: "One a line: Name: value."}}},
	task.KindPage: {{
		{Path: "check.page.url", Label: "Address", Need: true, Hint: "https://example.com/prices"},
		{Path: "check.page.css", Label: "CSS selector", Hint: "Such as main .price. All elements that match are looked at. Empty, with XPath and JSON path: the whole text."},
		{Path: "check.page.xpath", Label: "or XPath", Hint: "Such as //table[1]//tr"},
		{Path: "check.page.json_path", Label: "or JSON path", Hint: "For JSON, in jq's language, such as .items[0].price"},
		{Path: "check.page.ignore_css", Label: "Leave out", Kind: AsLines, Hint: "Selectors of elements that are taken out first, one a line."},
		{Path: "check.page.ignore", Label: "Ignore", Kind: AsLines, Hint: "Regular expressions (RE2), one a line; what they match is taken out of the text."},
		{Path: "check.page.mask", Label: "Mask", Kind: AsSet, Options: []string{"numbers", "dates"}, Hint: "What is replaced by a sign that it was there."},
		{Path: "check.page.baseline", Label: "Compare with", Kind: AsChoice, Options: []string{"rolling", "pinned"}, Hint: "rolling: the previous version. pinned: the accepted baseline."},
	}, {
		{Path: "check.page.confirm", Label: "A change counts after", Kind: AsDuration, Hint: "When it is still there then. Default: 10s."},
		{Path: "check.page.keep_markup", Label: "Compare the markup", Kind: AsCheck, Hint: "Instead of the text."},
		{Path: "check.page.allow_empty", Label: "No text is fine", Kind: AsCheck},
		{Path: "check.page.keep_versions", Label: "Texts kept", Kind: AsNumber, Hint: "Default: 50."},
		{Path: "check.page.headers", Label: "Headers", Kind: asPairs, Hint: "One a line: Name: value."},
	}},
	task.KindCommand: {{
		{Path: "check.command.shell", Label: "Script", Kind: AsArea, Hint: "For /bin/sh. It is good when it ends with 0."},
		{Path: "check.command.argv", Label: "or program", Kind: AsLines, Hint: "Without a shell: the program and its arguments, one a line."},
	}, {{Path: "check.command.env", Label: "Environment", Kind: asPairs, Hint: "One a line: NAME: value."}}},
	task.KindHeartbeat: {{
		{Path: "heartbeat.grace", Label: "Grace", Kind: AsDuration, Hint: "How late a call may be. Default: a fifth of the time between two, at least 10s."},
		{Path: "heartbeat.max_runtime", Label: "Longest run", Kind: AsDuration, Hint: "From a start to its end. Default: no limit."},
	}},
}

// SecretHint stands at the inputs of secrets.
const SecretHint = "It is never shown. Empty it to take it away."
