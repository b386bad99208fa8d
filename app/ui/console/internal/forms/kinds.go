package forms

import (
	"strings"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core/setting"
)

// SecretHint stands at the inputs of secrets.
const SecretHint = setting.SecretHint

// KindInputs makes inputs of the fields of a kind: those that matter, and those of a drawer. The prefix is the path of the
// kind's settings, with a dot.
func KindInputs(prefix string, fields []setting.Field) (main, more []Input) {
	for _, f := range fields {
		if f.Label == "" {
			continue
		}
		in := Input{Path: prefix + f.Path, Label: f.Label, Kind: inputKind(f.As), Hint: f.Hint, Options: f.Options, Need: f.Need}
		if f.As == setting.File {
			in.Kind = AsArea
		}
		in.Code = f.As == setting.Area && !f.More
		if f.More {
			more = append(more, in)
		} else {
			main = append(main, in)
		}
	}
	return main, more
}

// optionNames are the names of a setting's options on pages, by the last name of
// its path. An empty option is the default.
func optionNames(path string) map[string]string {
	return namesOfOptions[path[strings.LastIndexByte(path, '.')+1:]]
}

// notificationNames are the events of alert rules.
func notificationNames() map[string]string {
	names := map[string]string{
		"job_failed": "A job failed for good", "schedule_missed": "A schedule missed a run", "cycle_ended": "A cycle ended", "hook_disabled": "A hook is disabled", "certificate": "A certificate ends soon",
		"changed": "A page changed", "reminder": "Reminder: still down", "normal": "Normal speed again", "steady": "No longer flapping", "fresh": "Checks resumed", "stale": "Checks stopped",
	}
	for _, n := range alert.NotificationTypes {
		if names[string(n)] == "" {
			names[string(n)] = parts.SentenceCase(string(n))
		}
	}
	return names
}

var namesOfOptions = map[string]map[string]string{
	"backoff":       {"": "Exponential (default)", "exponential": "Exponential: twice as long each time", "linear": "Linear: longer by the first delay each time", "fixed": "Fixed: always the first delay"},
	"on_lost":       {"": "Retry (default)", "retry": "Retry", "fail": "Fail"},
	"family":        {"any": "IPv4 or IPv6", "ipv4": "IPv4 only", "ipv6": "IPv6 only"},
	"baseline":      {"rolling": "Previous version", "pinned": "Accepted baseline"},
	"starttls":      {"": "None: TLS from the start", "smtp": "SMTP", "imap": "IMAP", "pop3": "POP3", "ftp": "FTP", "postgres": "PostgreSQL"},
	"tls":           {"starttls": "STARTTLS", "implicit": "TLS from the start", "opportunistic": "Where the server offers it", "none": "None"},
	"when":          {"once": "Once", "weekly": "Weekly", "rules": "By rules (cron or RRULE)"},
	"on":            notificationNames(),
	"min_isolation": {"": "Confined (default)", "none": "None", "user": "Another user", "confined": "Confined", "namespaces": "Namespaces", "gvisor": "gVisor"},
}
