package belfry

import "time"

// Notice is something that people may want to be told.
type Notice struct {
	Type      NoticeType `json:"type" enum:"down,up,reminder,degraded,recovered,slow,normal,flapping,steady,stale,fresh,changed,certificate,job_failed,schedule_missed,cycle_ended,test"`
	At        time.Time  `json:"at" doc:"When it happened: of an outage, its first failure"`
	Namespace string     `json:"namespace"`
	Monitor   string     `json:"monitor,omitempty"`
	Task      string     `json:"task,omitempty"`
	Schedule  string     `json:"schedule,omitempty"`
	JobID     int64      `json:"job_id,omitempty"`
	Incident  int64      `json:"incident,omitempty"`
	Tags      []string   `json:"tags,omitempty"`
	Title     string     `json:"title" doc:"One line for people"`
	Text      string     `json:"text,omitempty" doc:"The rest, some lines"`
	Code      CheckCode  `json:"code,omitempty"`
	Since     time.Time  `json:"since,omitzero" doc:"Begin of the outage"`
	Lasted    Duration   `json:"lasted,omitempty" doc:"With up: how long it was down"`
	Count     int        `json:"count,omitempty" doc:"With reminder: the how manyth"`
	Diff      string     `json:"diff,omitempty" doc:"With changed: the first lines of the difference"`
}

// NoticeType is what happened.
type NoticeType string

// The types. Each that says something is wrong has one that says it is over.
const (
	NoticeDown           NoticeType = "down"
	NoticeUp             NoticeType = "up"
	NoticeReminder       NoticeType = "reminder"
	NoticeDegraded       NoticeType = "degraded"
	NoticeRecovered      NoticeType = "recovered" // from degraded
	NoticeSlow           NoticeType = "slow"
	NoticeNormal         NoticeType = "normal" // not slow any more
	NoticeFlapping       NoticeType = "flapping"
	NoticeSteady         NoticeType = "steady" // not flapping any more
	NoticeStale          NoticeType = "stale"
	NoticeFresh          NoticeType = "fresh" // not stale any more
	NoticeChanged        NoticeType = "changed"
	NoticeCertificate    NoticeType = "certificate"
	NoticeJobFailed      NoticeType = "job_failed"
	NoticeScheduleMissed NoticeType = "schedule_missed"
	NoticeCycleEnded     NoticeType = "cycle_ended"
	NoticeTest           NoticeType = "test"
)

// NoticeTypes lists all that a rule may name, in the order of their meaning.
var NoticeTypes = []NoticeType{NoticeDown, NoticeUp, NoticeReminder, NoticeDegraded, NoticeRecovered, NoticeSlow, NoticeNormal, NoticeFlapping, NoticeSteady,
	NoticeStale, NoticeFresh, NoticeChanged, NoticeCertificate, NoticeJobFailed, NoticeScheduleMissed, NoticeCycleEnded}

// AlertRule says who is told of what. A notice goes to the channels of every
// rule that it fits, once to each channel.
type AlertRule struct {
	Namespace   string       `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string       `json:"name" doc:"Unique in the namespace"`
	Description string       `json:"description,omitempty"`
	On          []NoticeType `json:"on,omitempty" doc:"Types of notices; default: down, up, flapping, steady, stale, fresh, changed, certificate, job_failed, schedule_missed"`
	Monitors    []string     `json:"monitors,omitempty" doc:"Monitors by name; default: all"`
	Tasks       []string     `json:"tasks,omitempty" doc:"Tasks by name, for job_failed; default: all"`
	Schedules   []string     `json:"schedules,omitempty" doc:"Schedules by name, for schedule_missed; default: all"`
	Tags        []string     `json:"tags,omitempty" doc:"Only of what has one of these tags"`
	Channels    []string     `json:"channels" doc:"Where to: channels by name"`
	Group       Duration     `json:"group,omitempty" doc:"How long to wait for more of the same channel, to tell it at once; default: 30s; negative: not at all. What is over is told at once"`
	Remind      Duration     `json:"remind,omitempty" doc:"While it is down: tell again after so long, then after twice as long, and so on; default: never"`
	RemindMax   int          `json:"remind_max,omitempty" doc:"Most reminders of one outage; default: 10"`
	Quiet       []string     `json:"quiet,omitempty" doc:"Calendars in whose times nobody is told; what is still so afterwards is told then"`
	Off         bool         `json:"off,omitempty"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Channel is a way to tell people: exactly one of its settings.
type Channel struct {
	Namespace   string `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string `json:"name" doc:"Unique in the namespace"`
	Description string `json:"description,omitempty"`

	Webhook   *WebhookChannel   `json:"webhook,omitempty"`
	Email     *EmailChannel     `json:"email,omitempty"`
	Slack     *SlackChannel     `json:"slack,omitempty"`
	Telegram  *TelegramChannel  `json:"telegram,omitempty"`
	Discord   *DiscordChannel   `json:"discord,omitempty"`
	Teams     *TeamsChannel     `json:"teams,omitempty"`
	PagerDuty *PagerDutyChannel `json:"pagerduty,omitempty"`
	Ntfy      *NtfyChannel      `json:"ntfy,omitempty"`
	Command   *CommandChannel   `json:"command,omitempty"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// WebhookChannel posts the message as JSON. With a secret, the header
// Belfry-Signature is t=UNIX,v1=HEX, the HMAC-SHA256 of "UNIX.BODY".
type WebhookChannel struct {
	URL     Secret            `json:"url" doc:"http or https"`
	Secret  Secret            `json:"secret,omitempty" doc:"Key of the signature; default: not signed"`
	Headers map[string]Secret `json:"headers,omitempty"`
}

// EmailChannel sends mail over SMTP.
type EmailChannel struct {
	Host     string   `json:"host"`
	Port     int      `json:"port,omitempty" doc:"Default: 587; 465 with tls: implicit; 25 with tls: none"`
	TLS      string   `json:"tls,omitempty" enum:"starttls,implicit,none" doc:"Default: starttls"`
	User     string   `json:"user,omitempty"`
	Password Secret   `json:"password,omitempty"`
	From     string   `json:"from"`
	To       []string `json:"to"`
}

// SlackChannel posts to an incoming webhook. Mattermost and others take the same.
type SlackChannel struct {
	URL Secret `json:"url" doc:"Of the incoming webhook"`
}

// TelegramChannel sends as a bot.
type TelegramChannel struct {
	Token Secret `json:"token" doc:"Of the bot"`
	Chat  string `json:"chat" doc:"Id of the chat, or @name of a channel"`
	API   string `json:"api,omitempty" doc:"Default: https://api.telegram.org"`
}

// DiscordChannel posts to a webhook.
type DiscordChannel struct {
	URL Secret `json:"url"`
}

// TeamsChannel posts an adaptive card to a workflow's webhook.
type TeamsChannel struct {
	URL Secret `json:"url"`
}

// PagerDutyChannel triggers and resolves through the Events API v2, with one
// key for an outage.
type PagerDutyChannel struct {
	RoutingKey Secret `json:"routing_key"`
	API        string `json:"api,omitempty" doc:"Default: https://events.pagerduty.com"`
}

// NtfyChannel publishes to a topic.
type NtfyChannel struct {
	Server string `json:"server,omitempty" doc:"Default: https://ntfy.sh"`
	Topic  string `json:"topic"`
	Token  Secret `json:"token,omitempty"`
}

// CommandChannel runs a program on a node, where its operator allows commands.
// The message is its standard input, as JSON.
type CommandChannel struct {
	Argv    []string `json:"argv"`
	Timeout Duration `json:"timeout,omitempty" doc:"Default: 30s; at most 5m"`
}

// Message is what a channel is to tell: one notice, or several that came
// together.
type Message struct {
	Key       string   `json:"key" doc:"The same for every try of this message and for no other"`
	Namespace string   `json:"namespace"`
	Channel   string   `json:"channel"`
	Title     string   `json:"title"`
	Text      string   `json:"text,omitempty"`
	Severity  string   `json:"severity" enum:"critical,warning,info,ok"`
	URL       string   `json:"url,omitempty" doc:"Where to see more, if the node knows its public address"`
	Notices   []Notice `json:"notices"`
}

// Alert is one notice on its way to one channel: a row of the outbox.
type Alert struct {
	ID        int64      `json:"id"`
	Namespace string     `json:"namespace"`
	Channel   string     `json:"channel"`
	Rule      string     `json:"rule"`
	Notice    Notice     `json:"notice"`
	State     AlertState `json:"state" enum:"pending,sent,failed,suppressed"`
	Reason    string     `json:"reason,omitempty" doc:"Why it was suppressed, or what the last try said"`
	CreatedAt time.Time  `json:"created_at"`
	DueAt     time.Time  `json:"due_at"`
	EndedAt   time.Time  `json:"ended_at,omitzero"`
	Tries     int        `json:"tries"`
	Message   string     `json:"message,omitempty" doc:"Key of the message that it went with"`
}

// AlertState is what became of an alert.
type AlertState string

// The states.
const (
	AlertPending    AlertState = "pending"
	AlertSent       AlertState = "sent"
	AlertFailed     AlertState = "failed"
	AlertSuppressed AlertState = "suppressed"
)

// AlertTry is one attempt to deliver a message.
type AlertTry struct {
	Message string    `json:"message"`
	Channel string    `json:"channel"`
	At      time.Time `json:"at"`
	Took    Duration  `json:"took"`
	Alerts  int       `json:"alerts" doc:"That went together"`
	Error   string    `json:"error,omitempty" doc:"Empty: it was taken"`
	Final   bool      `json:"final,omitempty" doc:"It will not be tried again"`
}

// Window is a time of maintenance. What fails in it is recorded, told to
// nobody, and does not count for uptime.
type Window struct {
	Namespace   string   `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string   `json:"name" doc:"Unique in the namespace"`
	Description string   `json:"description,omitempty"`
	Monitors    []string `json:"monitors,omitempty" doc:"Monitors by name; with tags, those of either; default: all"`
	Tags        []string `json:"tags,omitempty"`

	From  time.Time `json:"from,omitzero" doc:"Of a window that comes once"`
	To    time.Time `json:"to,omitzero"`
	Rules []Rule    `json:"rules,omitempty" doc:"When it begins, again and again: cron or rrule"`
	Lasts Duration  `json:"lasts,omitempty" doc:"With rules: how long; at most 7d"`
	Zone  string    `json:"zone,omitempty" doc:"Of the rules; default: UTC"`
	Off   bool      `json:"off,omitempty"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// StatusPage shows monitors of a namespace to everyone.
type StatusPage struct {
	Namespace   string          `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string          `json:"name" doc:"Part of its address; unique in the namespace"`
	Title       string          `json:"title,omitempty" doc:"Default: the name"`
	Description string          `json:"description,omitempty"`
	Sections    []StatusSection `json:"sections,omitempty" doc:"Default: one with all monitors that are public"`
	Off         bool            `json:"off,omitempty" doc:"Nobody sees it"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// StatusSection is a group of monitors on a status page. What it names is
// shown to everyone.
type StatusSection struct {
	Title    string   `json:"title,omitempty"`
	Monitors []string `json:"monitors,omitempty" doc:"By name"`
	Tags     []string `json:"tags,omitempty" doc:"And all that have one of these"`
}
