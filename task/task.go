package task

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/flow"
)

// Task defines what to run and its policy. It has a kind with its settings, and a
// name that is unique in its namespace.
type Task struct {
	Namespace    string          `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name         string          `json:"name,omitempty" doc:"Unique in the namespace"`
	Kind         Kind            `json:"kind,omitempty" enum:"func,command,program,http,page,tcp,dns,tls,ping,grpc,websocket,udp,domain,cycle,workflow" doc:"What runs; default: the kind whose settings are given"`
	Title        string          `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description  string          `json:"description,omitempty" doc:"For people; at most 4 KiB"`
	Tags         []string        `json:"tags,omitempty" doc:"For people and filters"`
	Queue        string          `json:"queue,omitempty" doc:"Lane of its jobs; default: default"`
	Priority     int             `json:"priority,omitempty" minimum:"-1000" maximum:"1000" doc:"Within the queue; higher runs first; default: 0"`
	Timeout      core.Duration   `json:"timeout,omitempty" doc:"Longest an attempt may run, or a cycle or workflow from its start; 10ms to 7d, for a workflow 400d; default: 1h, and 24h for a cycle or workflow"`
	Retry        Retry           `json:"retry,omitzero" doc:"What happens after an attempt that did not succeed"`
	Input        json.RawMessage `json:"input,omitempty" doc:"JSON handed to each job that brings none of its own; at most 256 KiB and 500 levels deep"`
	Requirements Requirements    `json:"requirements,omitzero" doc:"What a worker must have to run it"`
	Limits       []flow.Limit    `json:"limits,omitempty" doc:"How many of its jobs run at once or begin in a length of time, over all workers and by key; at most 4"`
	Sequence     *flow.Sequence  `json:"sequence,omitempty" doc:"Has jobs of a key run one at a time, in the order in which they were asked for"`
	Throttle     *flow.Throttle  `json:"throttle,omitempty" doc:"Has one job of a key made in a window of time; those asked for later in it are answered with the first"`
	Debounce     *flow.Debounce  `json:"debounce,omitempty" doc:"Has those asked for of a key within a window of each other share one job, which starts when none has come for that long; the last one counts"`
	Command      *Command        `json:"command,omitempty" doc:"Settings of kind command"`
	Program      *Program        `json:"program,omitempty" doc:"Settings of kind program"`
	HTTP         *HTTP           `json:"http,omitempty" doc:"Settings of kind http"`
	Page         *PageCheck      `json:"page,omitempty" doc:"Settings of kind page"`
	TCP          *TCP            `json:"tcp,omitempty" doc:"Settings of kind tcp"`
	DNS          *DNS            `json:"dns,omitempty" doc:"Settings of kind dns"`
	TLS          *TLS            `json:"tls,omitempty" doc:"Settings of kind tls"`
	Ping         *Ping           `json:"ping,omitempty" doc:"Settings of kind ping"`
	GRPC         *GRPC           `json:"grpc,omitempty" doc:"Settings of kind grpc"`
	WebSocket    *WebSocket      `json:"websocket,omitempty" doc:"Settings of kind websocket"`
	UDP          *UDP            `json:"udp,omitempty" doc:"Settings of kind udp"`
	Domain       *Domain         `json:"domain,omitempty" doc:"Settings of kind domain"`
	Cycle        *Cycle          `json:"cycle,omitempty" doc:"Settings of kind cycle"`
	Workflow     *Workflow       `json:"workflow,omitempty" doc:"Settings of kind workflow"`
	Conditions   []string        `json:"conditions,omitempty" doc:"Expressions that must hold of a probe's answer, such as status == 200 or latency < 500ms"`
	Warnings     []string        `json:"warnings,omitempty" doc:"Expressions that should hold; a monitor whose answer breaks one is degraded, and not down"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true" doc:"Grows with every edit"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Kind is the kind of work of a task.
type Kind string

// The kinds. A func is a Go handler registered in a worker; its task needs only a
// name. A heartbeat is a monitor that expects calls; no worker runs it.
const (
	KindFunc      Kind = "func"
	KindCommand   Kind = "command"
	KindProgram   Kind = "program"
	KindHTTP      Kind = "http"
	KindPage      Kind = "page"
	KindTCP       Kind = "tcp"
	KindDNS       Kind = "dns"
	KindTLS       Kind = "tls"
	KindPing      Kind = "ping"
	KindGRPC      Kind = "grpc"
	KindWebSocket Kind = "websocket"
	KindUDP       Kind = "udp"
	KindDomain    Kind = "domain"
	KindHeartbeat Kind = "heartbeat"
	KindCycle     Kind = "cycle"
	KindWorkflow  Kind = "workflow"
)

// Command runs a program on the worker's machine. It is remote code execution by
// design: a worker refuses it unless its operator has allowed commands.
type Command struct {
	Argv         []string          `json:"argv,omitempty" doc:"Program and arguments, run without a shell"`
	Shell        string            `json:"shell,omitempty" doc:"Script for /bin/sh -c, instead of argv"`
	Dir          string            `json:"dir,omitempty" doc:"Working directory, absolute; default: a fresh empty one, removed afterwards"`
	Env          map[string]string `json:"env,omitempty" doc:"Added to PATH, HOME, LANG, TZ and the BELFRY_ variables; nothing else is inherited"`
	Stdin        string            `json:"stdin,omitempty" doc:"Bytes for standard input; default: the job's input as JSON"`
	SuccessCodes []int             `json:"success_codes,omitempty" doc:"Exit codes that mean success; default: 0"`
	KillGrace    core.Duration     `json:"kill_grace,omitempty" doc:"Time between SIGTERM and SIGKILL; default: 5s; at most 5m"`
	OutputLimit  int               `json:"output_limit,omitempty" doc:"Bytes of standard output and error kept per attempt, beside the last 4 KiB of each; default: 1 MiB; at most 64 MiB"`
}

// Defaults and limits of a task.
const (
	DefaultQueue        = "default"
	DefaultTimeout      = core.Duration(time.Hour)
	DefaultCycleTimeout = core.Duration(24 * time.Hour)
	MinTimeout          = core.Duration(10 * time.Millisecond)
	MaxTimeout          = core.Duration(7 * 24 * time.Hour)
	DefaultOutputLimit  = 1 << 20
	MaxOutputLimit      = 64 << 20
	DefaultKillGrace    = core.Duration(5 * time.Second)
	MaxKillGrace        = core.Duration(5 * time.Minute)
	DefaultMaxRedirects = 10
	DefaultKeepBody     = 4 << 10
)

// WithDefaults returns a copy with the defaults of empty fields. Two tasks with the
// same meaning are equal afterwards, which makes apply idempotent.
func (t Task) WithDefaults() Task {
	t.Namespace = core.Or(t.Namespace, core.DefaultNamespace)
	t.Queue = core.Or(t.Queue, DefaultQueue)
	if t.Cycle != nil {
		t.Timeout = core.Or(t.Timeout, DefaultCycleTimeout)
	}
	if t.Workflow != nil {
		t.Timeout = core.Or(t.Timeout, DefaultWorkflowTimeout)
	}
	t.Timeout = core.Or(t.Timeout, DefaultTimeout)
	if t.Kind == "" {
		t.Kind = t.impliedKind()
	}
	if t.Kind == KindCycle || t.Kind == KindWorkflow {
		t.Retry.MaxAttempts = core.Or(t.Retry.MaxAttempts, 1) // a cycle runs again at its next time; its members have their own retries
	}
	if t.Kind == KindProgram {
		t.Retry.Infra = core.Or(t.Retry.Infra, DefaultInfraRetries)
	}
	t.Retry = t.Retry.WithDefaults()
	t.Limits = flow.LimitsWithDefaults(t.Limits)
	if t.Sequence != nil {
		s := t.Sequence.WithDefaults()
		t.Sequence = &s
	}
	return t.withKindDefaults()
}

func (c Command) withDefaults() Command {
	c.KillGrace = core.Or(c.KillGrace, DefaultKillGrace)
	c.OutputLimit = core.Or(c.OutputLimit, DefaultOutputLimit)
	if len(c.SuccessCodes) == 0 {
		c.SuccessCodes = []int{0}
	}
	return c
}

// Validate returns the problems of a task that has its defaults as one error, or nil.
func (t Task) Validate() error {
	var p core.Problems
	core.CheckName(&p, "name", t.Name)
	core.CheckName(&p, "namespace", t.Namespace)
	core.CheckName(&p, "queue", t.Queue)
	core.CheckTags(&p, t.Tags)
	core.CheckPriority(&p, t.Priority)
	title.Check(&p, "title", t.Title)
	if len(t.Description) > core.MaxDescription {
		p.Addf("description", t.Description, "has more than %d bytes", core.MaxDescription)
	}
	longest := MaxTimeout
	if t.Workflow != nil {
		longest = MaxWorkflowTimeout
		t.Workflow.validateWaits(&p, t.Timeout)
	}
	if t.Timeout < MinTimeout || t.Timeout > longest {
		p.Addf("timeout", t.Timeout, "is outside %s to %s", MinTimeout, longest)
	}
	core.CheckInput(&p, "input", t.Input)
	p.Nest("retry", t.Retry.validate())
	p.Nest("requirements", t.Requirements.validate())
	t.checkLimits(&p)
	t.validateKind(&p)
	if t.Kind == KindCycle && t.Retry.MaxAttempts > 1 {
		p.Addf("retry.max_attempts", t.Retry.MaxAttempts, "cannot be over 1 for a cycle: its members have attempts of their own")
	}
	if t.Kind == KindWorkflow && t.Retry.MaxAttempts > 1 {
		p.Addf("retry.max_attempts", t.Retry.MaxAttempts, "cannot be over 1 for a workflow: its steps have attempts of their own")
	}
	return p.Err(fmt.Sprintf("task %q", t.Name))
}

func (c Command) validate() error {
	var p core.Problems
	switch {
	case len(c.Argv) == 0 && c.Shell == "":
		p.Add("argv", "", "is missing", "give argv: [program, argument] or shell: a script")
	case len(c.Argv) > 0 && c.Shell != "":
		p.Add("shell", c.Shell, "cannot stand beside argv", "keep one of them")
	case len(c.Argv) > 0 && c.Argv[0] == "":
		p.Add("argv[0]", "", "is empty", "name the program")
	}
	for _, arg := range c.Argv {
		core.CheckNUL(&p, "argv", arg)
	}
	core.CheckNUL(&p, "shell", c.Shell)
	core.CheckNUL(&p, "dir", c.Dir)
	if c.Dir != "" && !strings.HasPrefix(c.Dir, "/") {
		p.Add("dir", c.Dir, "is not absolute", "the worker's own directory may be anywhere")
	}
	for name, value := range c.Env {
		core.CheckNUL(&p, "env."+name, value)
		if name == "" || strings.ContainsAny(name, "=\x00") {
			p.Add("env", name, "is not the name of an environment variable", "")
		}
		if strings.HasPrefix(name, "BELFRY_") {
			p.Add("env."+name, "", "is reserved", "names that start with BELFRY_ are set by the worker")
		}
	}
	if c.KillGrace < 0 || c.KillGrace > MaxKillGrace {
		p.Addf("kill_grace", c.KillGrace, "is outside 0s to %s", MaxKillGrace)
	}
	if c.OutputLimit < 0 || c.OutputLimit > MaxOutputLimit {
		p.Addf("output_limit", c.OutputLimit, "is outside 0 to %d bytes", MaxOutputLimit)
	}
	checkExitCodes(&p, "success_codes", c.SuccessCodes)
	return p.Err("command")
}

var methodRule = regexp.MustCompile(`^[A-Z]{1,20}$`)

// StatusRange is an inclusive range of HTTP status codes.
type StatusRange struct{ From, To int }

// ParseStatusRanges parses codes and ranges such as "204" and "200-299".
func ParseStatusRanges(texts []string) ([]StatusRange, error) {
	ranges := make([]StatusRange, 0, len(texts))
	for _, text := range texts {
		from, to, isRange := strings.Cut(text, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || len(from) != 3 || len(to) != 3 || a < 100 || b > 599 || a > b {
			return nil, fmt.Errorf("%q is not a status code or range", text)
		}
		ranges = append(ranges, StatusRange{a, b})
	}
	return ranges, nil
}

const MaxLog = MaxOutputLimit + logRoom

const logRoom = 1 << 20

// LogLimit returns the most bytes of an attempt's log: the limit of the task, plus
// room for lines of the worker.
func (t Task) LogLimit() int64 {
	switch {
	case t.Kind == KindProgram && t.Program != nil && t.Program.Limits.Log > 0:
		return t.Program.Limits.Log + logRoom
	case t.Kind == KindCommand && t.Command != nil && t.Command.OutputLimit > 0:
		return int64(t.Command.OutputLimit) + logRoom
	}
	return MaxLog
}

// Version returns the version of the task. Every edit changes it. With
// [core.WithVersion], an edit applies only to that version.
func (t Task) Version() string { return core.Version(t.Generation, t.UpdatedAt) }

const ChecksQueue = "checks" // only for monitors: see [job.CheckReserved]

const MinEvery = core.Duration(time.Second)

const MaxEvery = core.Duration(366 * 24 * time.Hour)
