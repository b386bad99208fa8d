package task

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// Program is an uploaded compiled binary. It runs on a worker in a sandbox. It
// gets only the fields here: no token, credential or environment of the worker.
type Program struct {
	SHA256 string `json:"sha256" doc:"Digest of the artifact: 64 lower-case hexadecimal digits. It pins what runs"`
	Size   int64  `json:"size" doc:"Bytes of the artifact"`
	Arch   string `json:"arch,omitempty" doc:"Machine it is compiled for, in Go's words, such as amd64 or arm64; default: amd64"`

	Args    []string          `json:"args,omitempty" doc:"Arguments after the program's own name"`
	Env     map[string]string `json:"env,omitempty" doc:"Its environment, beside PATH, HOME, TMPDIR, LANG, TZ and the BELFRY_ variables"`
	Secrets map[string]string `json:"secrets,omitempty" doc:"Environment variables whose values are secrets of the namespace: variable to name of secret. Their values are masked in the log"`
	Stdin   string            `json:"stdin,omitempty" doc:"Bytes for standard input; default: the job's input as JSON"`

	Network      bool      `json:"network,omitempty" doc:"Let it reach the network; a worker's operator must allow it too"`
	MinIsolation Isolation `json:"min_isolation,omitempty" enum:"none,user,confined,namespaces,gvisor" doc:"Weakest isolation it may run under; below it no worker starts it; default: confined"`
	Limits       Limits    `json:"limits,omitzero" doc:"What it may use"`

	SuccessCodes []int         `json:"success_codes,omitempty" doc:"Exit codes that mean success; default: 0"`
	FatalCodes   []int         `json:"fatal_codes,omitempty" doc:"Exit codes after which no retry is made"`
	KillGrace    core.Duration `json:"kill_grace,omitempty" doc:"Time between SIGTERM and SIGKILL; default: 5s; at most 5m"`
}

// Limits bound the resources of a program. Zero means the default.
type Limits struct {
	Memory     int64   `json:"memory,omitempty" doc:"Bytes, of all its processes and its temporary files together; default: 512 MiB"`
	CPU        float64 `json:"cpu,omitempty" doc:"Processors, 0.5 is half of one; default: 1"`
	Processes  int64   `json:"processes,omitempty" doc:"Processes and threads; default: 256"`
	Disk       int64   `json:"disk,omitempty" doc:"Bytes of temporary files; default: 64 MiB"`
	OpenFiles  int64   `json:"open_files,omitempty" doc:"Of one process; default: 1024"`
	Log        int64   `json:"log,omitempty" doc:"Bytes of standard output and error kept per attempt; default: 10 MiB; at most 64 MiB"`
	Outputs    int     `json:"outputs,omitempty" doc:"Files it may leave in BELFRY_OUTPUT_DIR; default: 32; at most 256"`
	OutputSize int64   `json:"output_size,omitempty" doc:"Bytes of those files together; default: 64 MiB; at most 1 GiB"`
}

// Isolation is how strongly a program is isolated from its machine. Each tier
// includes the previous ones.
type Isolation string

// The tiers, weakest first.
const (
	IsolationNone       Isolation = "none"       // limits and a clean environment, as the worker's own user
	IsolationUser       Isolation = "user"       // a separate user
	IsolationConfined   Isolation = "confined"   // and Landlock and seccomp
	IsolationNamespaces Isolation = "namespaces" // and separate root, processes and network
	IsolationGVisor     Isolation = "gvisor"     // and a separate kernel in user space
)

// Isolations lists all tiers, weakest first.
var Isolations = []Isolation{IsolationNone, IsolationUser, IsolationConfined, IsolationNamespaces, IsolationGVisor}

// AtLeast reports whether i is as strong as other. An unknown tier is weaker than
// all others, so that a worker with an unknown tier gets no programs.
func (i Isolation) AtLeast(other Isolation) bool {
	return slices.Index(Isolations, i) >= max(slices.Index(Isolations, other), 0)
}

// Defaults and limits of a program.
const (
	DefaultArch         = "amd64"
	DefaultIsolation    = IsolationConfined
	DefaultInfraRetries = 3
	DefaultMemory       = 512 << 20
	DefaultCPU          = 1
	DefaultProcesses    = 256
	DefaultDisk         = 64 << 20
	DefaultOpenFiles    = 1024
	DefaultProgramLog   = 10 << 20
	DefaultOutputs      = 32
	DefaultOutputSize   = 64 << 20
	MaxOutputs          = 256
	MaxOutputSize       = 1 << 30
	MaxArtifact         = 1 << 30 // bytes of a program
	MaxProgramArgs      = 1000
	MaxProgramBytes     = 128 << 10 // bytes of arguments and environment together; Linux allows more, but a row should be small
	minMemory           = 4 << 20
	maxMemory           = 1 << 44
	maxProcessors       = 1024
	maxProcesses        = 1 << 20
	longestProgramGrace = MaxKillGrace
)

// Arches lists the architectures of programs, as values of GOARCH.
var Arches = []string{"386", "amd64", "arm", "arm64", "loong64", "ppc64le", "riscv64", "s390x"}

var variableRule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// IsDigest reports whether a text is a SHA-256 as the name of an artifact. It
// keeps hostile names out of paths.
func IsDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (g Program) withDefaults() Program {
	g.SHA256 = strings.ToLower(g.SHA256)
	g.Arch = core.Or(g.Arch, DefaultArch)
	g.MinIsolation = core.Or(g.MinIsolation, DefaultIsolation)
	g.KillGrace = core.Or(g.KillGrace, DefaultKillGrace)
	if len(g.SuccessCodes) == 0 {
		g.SuccessCodes = []int{0}
	}
	g.Limits = g.Limits.withDefaults()
	return g
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Memory:     core.Or(l.Memory, DefaultMemory),
		CPU:        core.Or(l.CPU, DefaultCPU),
		Processes:  core.Or(l.Processes, DefaultProcesses),
		Disk:       core.Or(l.Disk, DefaultDisk),
		OpenFiles:  core.Or(l.OpenFiles, DefaultOpenFiles),
		Log:        core.Or(l.Log, DefaultProgramLog),
		Outputs:    core.Or(l.Outputs, DefaultOutputs),
		OutputSize: core.Or(l.OutputSize, DefaultOutputSize),
	}
}

// details describes a program for people.
func (g Program) details() (f setting.Facts) {
	var secrets []string
	for _, name := range slices.Sorted(maps.Keys(g.Secrets)) {
		secrets = append(secrets, name+" from secret "+g.Secrets[name])
	}
	network := "none"
	if g.Network {
		network = "as the worker's operator allows"
	}
	l := g.Limits
	f.Add(true, "artifact", "%s", g.SHA256)
	f.Add(true, "size", "%s", core.SizeText(g.Size))
	f.Add(true, "arch", "%s", g.Arch)
	f.Add(true, "arguments", "%s", strings.Join(g.Args, " "))
	f.Add(true, "env", "%s", setting.Entries(g.Env, "="))
	f.Add(true, "secrets", "%s", strings.Join(secrets, "\n"))
	f.Add(true, "stdin", "%s", g.Stdin)
	f.Add(true, "network", "%s", network)
	f.Add(true, "isolation", "at least %s", g.MinIsolation)
	f.Add(true, "limits", "memory %s, cpu %g, %d processes, %s of files, log %s, %d outputs of %s",
		core.SizeText(l.Memory), l.CPU, l.Processes, core.SizeText(l.Disk), core.SizeText(l.Log), l.Outputs, core.SizeText(l.OutputSize))
	f.Add(true, "kill grace", "%s", g.KillGrace)
	return f
}

func (g Program) validate() error {
	var p core.Problems
	checkArtifact(&p, g.SHA256, g.Size)
	if !slices.Contains(Arches, g.Arch) {
		p.Add("arch", g.Arch, "is not a machine", "one of "+strings.Join(Arches, ", "))
	}
	if !slices.Contains(Isolations, g.MinIsolation) {
		p.Add("min_isolation", string(g.MinIsolation), "is not an isolation", "one of "+core.List(Isolations))
	}
	if g.KillGrace < 0 || g.KillGrace > longestProgramGrace {
		p.Addf("kill_grace", g.KillGrace, "is outside 0s to %s", longestProgramGrace)
	}
	checkExitCodes(&p, "success_codes", g.SuccessCodes)
	checkExitCodes(&p, "fatal_codes", g.FatalCodes)
	g.validateWords(&p)
	p.Nest("limits", g.Limits.validate())
	return p.Err("program")
}

// validateWords checks arguments and environment.
func (g Program) validateWords(p *core.Problems) {
	p.AtMost("args", len(g.Args), MaxProgramArgs)
	sum := 0
	for i, arg := range g.Args {
		sum += len(arg)
		core.CheckNUL(p, fmt.Sprintf("args[%d]", i), arg)
	}
	for name, value := range g.Env {
		sum += len(name) + len(value)
		checkVariable(p, "env", name)
		core.CheckNUL(p, "env."+name, value)
	}
	for name, secret := range g.Secrets {
		checkVariable(p, "secrets", name)
		core.CheckName(p, "secrets."+name, secret)
		if _, twice := g.Env[name]; twice {
			p.Add("secrets."+name, "", "stands in env as well", "keep one of them")
		}
	}
	if sum > MaxProgramBytes {
		p.Addf("args", sum, "and env have more than %d bytes together", MaxProgramBytes)
	}
}

func checkVariable(p *core.Problems, field, name string) {
	switch {
	case !variableRule.MatchString(name):
		p.Add(field, name, "is not the name of an environment variable", "letters, digits and underscores")
	case strings.HasPrefix(name, "BELFRY_"):
		p.Add(field+"."+name, "", "is reserved", "names that start with BELFRY_ are set by the worker")
	case strings.HasPrefix(name, "LD_"):
		p.Add(field+"."+name, "", "is not passed on", "the dynamic loader's variables are the sandbox's to set")
	}
}

func checkExitCodes(p *core.Problems, field string, codes []int) {
	for _, code := range codes {
		if code < 0 || code > 255 {
			p.Addf(field, code, "is outside 0 to 255")
		}
	}
}

func (l Limits) validate() error {
	var p core.Problems
	within := func(field string, v, low, high int64) {
		if v < low || v > high {
			p.Addf(field, v, "is outside %d to %d", low, high)
		}
	}
	size := func(field string, v, low, high int64) {
		if v < low || v > high {
			p.Add(field, core.ExactSize(v), fmt.Sprintf("is outside %s to %s", core.ExactSize(low), core.ExactSize(high)), "")
		}
	}
	size("memory", l.Memory, minMemory, maxMemory)
	within("processes", l.Processes, 1, maxProcesses)
	size("disk", l.Disk, 0, maxMemory)
	within("open_files", l.OpenFiles, 8, maxProcesses)
	size("log", l.Log, 0, MaxOutputLimit)
	within("outputs", int64(l.Outputs), 0, MaxOutputs)
	size("output_size", l.OutputSize, 0, MaxOutputSize)
	if !(l.CPU >= 0.01 && l.CPU <= maxProcessors) { // refuses NaN as well
		p.Addf("cpu", l.CPU, "is outside 0.01 to %d processors", maxProcessors)
	}
	return p.Err("limits")
}

// Artifact is a program that is uploaded or pending upload: immutable bytes with
// their digest as name.
type Artifact struct {
	SHA256    string    `json:"sha256"`
	Size      int64     `json:"size"`
	Namespace string    `json:"namespace"`
	CreatedAt time.Time `json:"created_at"`
	PostedAt  time.Time `json:"posted_at,omitzero" doc:"When its bytes were there and compared with the digest; until then its jobs wait"`
	PostedBy  string    `json:"posted_by,omitempty"`
	Tasks     []string  `json:"tasks,omitempty" doc:"Tasks that run it, up to ten"`
}

// SignedRequest is a signed HTTP request to send or fetch bytes. It is a secret
// until it expires.
type SignedRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url" doc:"May be a path alone, which then belongs to the server that gave it"`
	Headers map[string]string `json:"headers,omitempty" doc:"To be sent as they are: they are part of what is signed"`
	Expires time.Time         `json:"expires"`
}

// Sandboxed is the report of a worker about a program's attempt besides its
// result.
type Sandboxed struct {
	SHA256    string    `json:"sha256" doc:"Artifact that ran"`
	Isolation Isolation `json:"isolation" doc:"Tier that was applied"`
	Layers    []string  `json:"layers,omitempty" doc:"Means that were applied, such as uid, landlock, seccomp, namespaces, memory"`
	Missing   []string  `json:"missing,omitempty" doc:"Means that were not, and why"`
	Network   string    `json:"network,omitempty" doc:"guarded (the machine's, as far as its operator allows), machine (all of it), loopback or none"`
	OOM       bool      `json:"oom,omitempty" doc:"The kernel killed one of its processes for want of memory"`
	Usage     Usage     `json:"usage,omitzero"`
	Outputs   []Output  `json:"outputs,omitempty" doc:"Files it left"`
}

// Usage is the resource usage of a program.
type Usage struct {
	Wall   core.Duration `json:"wall,omitempty"`
	User   core.Duration `json:"user,omitempty" doc:"Of processor, in its own code"`
	System core.Duration `json:"system,omitempty" doc:"Of processor, in the kernel"`
	Memory int64         `json:"memory,omitempty" doc:"Most bytes that it had: of all its processes where a control group counted them, else of the largest"`
}

// Output is an output file of an attempt.
type Output struct {
	Name   string `json:"name" doc:"Path below the output folder"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}
