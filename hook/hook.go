package hook

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// Hook sends events to a URL, in signed requests, or keeps them for programs that ask for them.
//
// Each filter that is given must match. An event without the thing that a filter is about does not match: a hook that
// names tasks gets no event of a monitor.
type Hook struct {
	Namespace   string                 `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string                 `json:"name" doc:"Unique in the namespace"`
	Title       string                 `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description string                 `json:"description,omitempty"`
	Pull        bool                   `json:"pull,omitempty" doc:"Events are not posted: programs ask for them. Such a hook has no url, secret and headers, and stays one"`
	URL         core.Secret            `json:"url,omitempty" doc:"Where events are posted: http or https"`
	Secret      core.Secret            `json:"secret,omitempty" doc:"Key of the signature in the header Belfry-Signature, 16 bytes or more"`
	Headers     map[string]core.Secret `json:"headers,omitempty" doc:"Sent with each request"`
	On          []string               `json:"on,omitzero" doc:"Types of events, such as job.failed or monitor.*; default: *, all of them. An empty list is refused"`
	Tasks       []string               `json:"tasks,omitempty" doc:"Only of these tasks: names, or patterns such as billing-*"`
	Queues      []string               `json:"queues,omitempty" doc:"Only of jobs in these queues: names or patterns"`
	Schedules   []string               `json:"schedules,omitempty" doc:"Only of these schedules and of their jobs: names or patterns"`
	Monitors    []string               `json:"monitors,omitempty" doc:"Only of these monitors: names or patterns"`
	Tags        []string               `json:"tags,omitempty" doc:"Only of jobs and monitors with one of these tags"`
	Paused      bool                   `json:"paused,omitempty" doc:"Events are recorded and not delivered, until the hook is resumed"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Limits of a hook and of its events.
const (
	MinSecret   = 16             // bytes
	maxSecret   = 1 << 10        // bytes
	MaxHooks    = 50             // of a namespace: an event is recorded for each of them, in its transaction
	MaxPatterns = 100            // of one filter
	MaxBatch    = 100            // events in one request
	MaxPayload  = 512 << 10      // bytes of the events in one request, unless one alone has more
	Keep        = 72 * time.Hour // how long events are kept, delivered or not
	MaxKept     = 1_000_000      // events of one hook; beyond it the oldest are dropped
)

// WithDefaults fills empty fields.
func (h Hook) WithDefaults() Hook {
	h.Namespace = core.Or(h.Namespace, core.DefaultNamespace)
	if h.On == nil {
		h.On = []string{"*"}
	}
	return h
}

// channelPrefix begins the names of hooks as channels. No channel has such a name.
const channelPrefix = "hook/"

// NameOf is the name of the hook that a channel is.
func NameOf(c alert.Channel) string { return strings.TrimPrefix(c.Name, channelPrefix) }

// Channel is the hook as a webhook channel, for the code that sends to channels and keeps their secrets.
func (h Hook) Channel() alert.Channel {
	return alert.Channel{Namespace: h.Namespace, Name: channelPrefix + h.Name, Webhook: &alert.WebhookChannel{URL: h.URL, Secret: h.Secret, Headers: h.Headers}}
}

// with is the hook with the secrets of a channel.
func (h Hook) with(c alert.Channel) Hook {
	h.URL, h.Secret, h.Headers = c.Webhook.URL, c.Webhook.Secret, c.Webhook.Headers
	return h
}

// MapSecrets is a copy of the hook with every secret replaced by the result of f.
func (h Hook) MapSecrets(f func(path string, s core.Secret) core.Secret) Hook {
	return h.with(h.Channel().MapSecrets(func(path string, s core.Secret) core.Secret { return f(strings.TrimPrefix(path, "webhook."), s) }))
}

// Redacted is the hook as it is shown: without its secrets.
func (h Hook) Redacted() Hook {
	return h.MapSecrets(func(_ string, s core.Secret) core.Secret { return s.Redacted() })
}

// KeepSecrets puts back the secrets of old where a hook that was shown is saved again, as [alert.Channel.KeepSecrets]
// does: never for another host.
func (h Hook) KeepSecrets(old Hook) Hook { return h.with(h.Channel().KeepSecrets(old.Channel())) }

// CheckSecrets refuses a hook in which something stands for a secret that is not there.
func (h Hook) CheckSecrets() error {
	var p core.Problems
	h.MapSecrets(func(path string, s core.Secret) core.Secret {
		if s == core.Redacted {
			p.Add(path, string(s), "stands for a secret that is kept, and none is", "write the secret itself; one is kept only while the URL has the same host")
		}
		return s
	})
	return p.Err(fmt.Sprintf("hook %q", h.Name))
}

// nest adds the problems of the channel of a hook, under the names of the hook's fields.
func nest(p *core.Problems, err error) {
	var e *core.Error
	if !errors.As(err, &e) {
		return
	}
	for _, f := range e.Fields {
		if name, is := strings.CutPrefix(f.Field, "webhook."); is {
			p.Add(name, f.Value, f.Message, f.Hint)
		}
	}
}

// Version names a state of the hook.
func (h Hook) Version() string { return core.Version(h.Generation, h.UpdatedAt) }

// Validate returns all problems of a hook that has its defaults. Its text never repeats a secret.
func (h Hook) Validate(_ time.Time) error {
	var p core.Problems
	core.CheckDocument(&p, h.Namespace, h.Name, h.Description)
	title.Check(&p, "title", h.Title)
	switch {
	case h.Pull:
		for _, f := range []struct {
			field string
			given bool
		}{{"url", h.URL != ""}, {"secret", h.Secret != ""}, {"headers", len(h.Headers) > 0}} {
			if f.given {
				p.Add(f.field, "", "cannot stand beside pull: nothing is posted", "leave out one of them")
			}
		}
	default:
		h.validateDelivery(&p)
	}
	h.validateOn(&p)
	for _, f := range filters {
		checkPatterns(&p, f.field, f.patterns(h))
	}
	core.CheckTags(&p, h.Tags)
	if len(p) == 0 && len(h.Types()) == 0 {
		p.Add("on", strings.Join(h.On, ", "), "has no event that the filters can match", "tasks and queues are of jobs, monitors of monitors; make a hook for each")
	}
	return p.Err(fmt.Sprintf("hook %q", h.Name))
}

func (h Hook) validateDelivery(p *core.Problems) {
	nest(p, h.Channel().Validate(time.Time{}))
	switch {
	case h.Secret == "":
		p.Add("secret", "", "is missing", "make one: openssl rand -hex 32")
	case h.Secret != core.Redacted && len(h.Secret) < MinSecret:
		p.Addf("secret", "", "must have at least %d bytes", MinSecret)
	case len(h.Secret) > maxSecret:
		p.Addf("secret", "", "must have at most %d bytes", maxSecret)
	}
}

func (h Hook) validateOn(p *core.Problems) {
	if len(h.On) > MaxPatterns {
		p.AtMost("on", len(h.On), MaxPatterns)
		return
	}
	if len(h.On) == 0 {
		p.Add("on", "", "must name a type of event", "leave it out for all events, or pause the hook")
	}
	for i, on := range h.On {
		path := fmt.Sprintf("on[%d]", i)
		switch {
		case len(on) > maxPattern:
			p.Addf(path, on[:maxPattern], "has more than %d bytes", maxPattern)
		case !slices.ContainsFunc(Types, func(t string) bool { return fits(on, t) }):
			p.Add(path, on, "is not a type of event", "one of "+strings.Join(Types, ", ")+", or a pattern such as job.*")
		case slices.Contains(h.On[:i], on):
			p.Add(path, on, "is named twice", "")
		}
	}
}

// namePattern is a name, or one with stars.
var namePattern = regexp.MustCompile(`^[a-zA-Z0-9*][a-zA-Z0-9._:/*-]*$`)

// maxPattern bounds a pattern, in bytes.
const maxPattern = 200

func checkPatterns(p *core.Problems, field string, patterns []string) {
	if len(patterns) > MaxPatterns {
		p.AtMost(field, len(patterns), MaxPatterns)
		return
	}
	for i, text := range patterns {
		path := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case len(text) > maxPattern || !namePattern.MatchString(text):
			p.Add(path, text, "is neither a name nor a pattern", "letters, digits, dots, dashes, underscores, and * for any characters")
		case slices.Contains(patterns[:i], text):
			p.Add(path, text, "is named twice", "")
		}
	}
}

// fits reports whether a text matches a pattern, in which * stands for any characters.
func fits(pattern, text string) bool {
	first, rest, stars := strings.Cut(pattern, "*")
	if !stars {
		return pattern == text
	}
	text, is := strings.CutPrefix(text, first)
	if !is {
		return false
	}
	for {
		piece, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, piece)
		}
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(piece):], after
	}
}

func fitsAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, text) })
}

// filter is a filter of a hook, with the things of which it selects some.
type filter struct {
	field    string
	patterns func(Hook) []string
	nouns    []string           // of events that have such a thing
	of       func(Event) string // the thing that an event is of
}

var ofJobs = []string{"job", "workflow", "cycle"}

var filters = []filter{
	{"tasks", func(h Hook) []string { return h.Tasks }, append([]string{"schedule"}, ofJobs...), Event.task},
	{"queues", func(h Hook) []string { return h.Queues }, ofJobs, func(e Event) string { return e.jobOr().Queue }},
	{"schedules", func(h Hook) []string { return h.Schedules }, append([]string{"schedule"}, ofJobs...), Event.schedule},
	{"monitors", func(h Hook) []string { return h.Monitors }, []string{"monitor"}, func(e Event) string { return e.monitorOr().Name }},
}

// Types are the types of events that the hook can get.
func (h Hook) Types() (types []string) {
	for _, t := range Types {
		noun, _, _ := strings.Cut(t, ".")
		if !fitsAny(h.On, t) || len(h.Tags) > 0 && noun == "schedule" {
			continue
		}
		if !slices.ContainsFunc(filters, func(f filter) bool { return len(f.patterns(h)) > 0 && !slices.Contains(f.nouns, noun) }) {
			types = append(types, t)
		}
	}
	return types
}

// Fits reports whether the hook gets an event.
func (h Hook) Fits(e Event) bool {
	if h.Namespace != e.Namespace || !fitsAny(h.On, e.Type) {
		return false
	}
	if len(h.Tags) > 0 && !slices.ContainsFunc(e.tags(), func(t string) bool { return slices.Contains(h.Tags, t) }) {
		return false
	}
	for _, f := range filters {
		if patterns := f.patterns(h); len(patterns) > 0 {
			if thing := f.of(e); thing == "" || !fitsAny(patterns, thing) {
				return false
			}
		}
	}
	return true
}
