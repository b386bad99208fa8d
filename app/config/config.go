package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Config holds all settings of a node, a remote worker or a client. A setting
// has one name everywhere: session_ttl in the file is
// BELFRY_SESSION_TTL in the environment and --session-ttl on the command line.
type Config struct {
	Database         string            `json:"database" default:"sqlite:belfry.db" group:"node,client" doc:"Where state is kept: sqlite:PATH, a plain path, or postgres://…; also DATABASE_URL"`
	Listen           string            `json:"listen" default:"127.0.0.1:7420" group:"node" doc:"Address of the API"`
	Roles            []string          `json:"roles" default:"api,engine,worker" group:"node" doc:"Roles of this node: api, engine, worker"`
	AllowCommands    bool              `json:"allow_commands" default:"false" group:"node,worker" doc:"Run tasks of kind command here. Users who may create tasks can then run any program as this operating system user"`
	RefusePrograms   bool              `json:"refuse_programs" default:"false" group:"node,worker" doc:"Run no uploaded programs here. By default they run in a sandbox, if it is at least as strong as min_isolation"`
	MinIsolation     string            `json:"min_isolation" default:"confined" group:"node,worker" doc:"Weakest isolation under which uploaded programs run here: none, user, confined, namespaces or gvisor; a task may require more"`
	RequireLimits    bool              `json:"require_limits" default:"false" group:"node,worker" doc:"Run uploaded programs only where control groups limit memory, processes and processors of all processes of a run together"`
	ProgramMemory    int64             `json:"program_memory" default:"0" group:"node,worker" doc:"Bytes of memory for uploaded programs here: the sum of limits.memory of running programs stays within it; 0: all memory of this machine or its control group"`
	ProgramCPU       float64           `json:"program_cpu" default:"0" group:"node,worker" doc:"Processors for uploaded programs here: a program with a higher limits.cpu does not run here; 0: all processors of this machine or its control group"`
	AllowNetwork     bool              `json:"allow_network" default:"false" group:"node,worker" doc:"Let uploaded programs use this machine's network if their task requests it. They reach public addresses, those of allow_addresses, and the name servers of this machine. Needs root and control groups of version 2"`
	UnguardedNetwork bool              `json:"unguarded_network" default:"false" group:"node,worker" doc:"Let programs with the network reach all addresses that this machine reaches, including its loopback and a cloud's metadata. For machines that a firewall outside protects"`
	Runsc            string            `json:"runsc" group:"node,worker" doc:"gVisor's program, a path or a name in PATH: uploaded programs then run under isolation gvisor where it works. Needs root. Default: none"`
	StateDir         string            `json:"state_dir" group:"node,worker" doc:"Folder for uploaded programs and results under way; default: belfry.state beside the SQLite file, /var/lib/belfry for root, or belfry in the user's cache folder"`
	CacheSize        int64             `json:"cache_size" default:"1073741824" group:"node,worker" doc:"Bytes of uploaded programs kept for their next run"`
	AllowAddresses   []string          `json:"allow_addresses" group:"node,worker" doc:"Addresses that http tasks, and programs with the network, may reach besides public ones: loopback, private, link-local, an address, or a range such as 10.1.0.0/16"`
	RDAPBootstrap    string            `json:"rdap_bootstrap" default:"https://data.iana.org/rdap/dns.json" group:"node,worker" doc:"URL of the file that names the RDAP server of each top-level domain (RFC 9224), for monitors of kind domain"`
	Queues           map[string]int    `json:"queues" group:"node,worker" doc:"Slots on this node per queue, instead of the queue's own concurrency, as name=slots"`
	Labels           map[string]string `json:"labels" group:"node,worker" doc:"Capabilities of this machine that tasks may require, as name=value such as gpu=true; at most 64. On the command line also as --label, repeated"`

	OnlyQueues       []string      `json:"only_queues" group:"node,worker" doc:"Serve these queues and no others; default: all"`
	Name             string        `json:"name" group:"node,worker" doc:"Name of this node or worker; default: the host's name"`
	Grace            core.Duration `json:"grace" default:"30s" group:"node,worker" doc:"How long a stop waits for running jobs before it hands them back"`
	SessionTTL       core.Duration `json:"session_ttl" default:"30s" group:"node" doc:"How long the session of a worker lasts without a renewal before its jobs go to other workers"`
	RetentionAge     core.Duration `json:"retention_age" default:"30d" group:"node" doc:"How long finished jobs, attempts, logs and occurrences are kept"`
	RetentionJobs    int64         `json:"retention_jobs" default:"1000000" group:"node" doc:"Highest number of finished jobs that are kept"`
	RetentionResults core.Duration `json:"retention_results" default:"7d" group:"node" doc:"How long single check results are kept. Hourly totals are kept for 100 days, daily totals and uptime for ever"`
	RetentionUploads core.Duration `json:"retention_uploads" default:"24h" group:"node" doc:"How long an artifact with a pending upload is kept, unless a task names it"`
	Artifacts        string        `json:"artifacts" group:"node" doc:"Where uploaded programs are stored: a folder, or s3://BUCKET/PREFIX?region=…&endpoint=…&public_endpoint=…; default: the folder artifacts beside the SQLite file. Nodes on PostgreSQL need a bucket, or a folder that all of them share"`
	SealKeyFile      string        `json:"seal_key_file" group:"node" doc:"File with the key that secrets are sealed with, 64 hexadecimal digits; the first line seals, the others only open. Default: belfry.key beside the SQLite file, created when it is first needed; nodes on PostgreSQL need one set"`
	PublicURL        string        `json:"public_url" group:"node" doc:"URL of this node for others: for links in alerts, the URLs of heartbeats and the feeds of status pages, such as https://belfry.example.com or https://example.com/belfry"`
	NoConsole        bool          `json:"no_console" default:"false" group:"node" doc:"Serve the API without the web interface"`
	ConsoleIdle      core.Duration `json:"console_idle" default:"24h" group:"node" doc:"How long a user stays signed in to the web interface without a request"`
	ConsoleLife      core.Duration `json:"console_life" default:"14d" group:"node" doc:"How long a user stays signed in to the web interface in all"`

	OIDCIssuer      string            `json:"oidc_issuer" group:"node" doc:"Issuer URL of an OpenID Connect provider for signing in to the web interface, exactly as the provider writes it, including a last slash. Needs a public_url with https, or one of this machine"`
	OIDCClientID    string            `json:"oidc_client_id" group:"node" doc:"Client ID at the provider. Its redirect URL is public_url with /sign-in/oidc/callback appended"`
	OIDCSecretFile  string            `json:"oidc_client_secret_file" group:"node" doc:"File with the client's secret; default: none"`
	OIDCScopes      []string          `json:"oidc_scopes" default:"openid,profile,email" group:"node" doc:"Scopes to request from the provider. Some providers send groups only for an extra scope, often groups"`
	OIDCGroupsClaim string            `json:"oidc_groups_claim" default:"groups" group:"node" doc:"The claim that names the groups of a user"`
	OIDCNameClaim   string            `json:"oidc_name_claim" default:"email" group:"node" doc:"The claim that names a user in the audit, such as email or preferred_username. Choose a claim that users cannot change themselves"`
	OIDCGroups      map[string]string `json:"oidc_groups" group:"node" doc:"Rights of groups, as group=namespace:scope with read, operate or admin, such as ops=*:admin; separate several by spaces"`
	OIDCDefault     string            `json:"oidc_default" group:"node" doc:"Rights of every user whom the provider admits, such as default:read; default: rights come from groups alone"`

	Schema      string `json:"schema" default:"belfry" group:"node,client" doc:"PostgreSQL schema of the tables, created if it is missing; on SQLite, the prefix of table names, followed by _. Nodes of one database and one schema are one installation"`
	Wakeups     string `json:"wakeups" default:"notify" group:"node" doc:"How nodes on PostgreSQL wake each other: notify, or poll for a pooler without LISTEN"`
	MaxConns    int    `json:"max_conns" default:"0" group:"node" doc:"Connections to PostgreSQL; 0: chosen by the size of the machine"`
	TLSCert     string `json:"tls_cert" group:"node" doc:"Certificate chain of the API, PEM"`
	TLSKey      string `json:"tls_key" group:"node" doc:"Key of the certificate, PEM"`
	BehindProxy bool   `json:"behind_proxy" default:"false" group:"node" doc:"A proxy in front terminates TLS: listen without TLS on an address that other machines can reach. Proxies at loopback and private addresses are trusted to name the client, unless trusted_proxies names others"`

	TrustedProxies []string `json:"trusted_proxies" group:"node" doc:"Proxies whose X-Forwarded-For or Forwarded header names the client: loopback, private, an address, or a range such as 10.1.0.0/16; default: none, or loopback and private with behind_proxy"`

	MaxClients  int           `json:"max_clients" default:"10000" group:"node" doc:"Open connections to the API, its pages and streams, half of them for one address, and at most three quarters of the files that the node may open; a further one replaces a connection without a request, or waits. The same number limits concurrent HTTP/2 requests; further ones are reset"`
	BodyTimeout core.Duration `json:"body_timeout" default:"30s" group:"node" doc:"How long a client may take to send the body of a request"`

	LogLevel  string `json:"log_level" default:"info" group:"node,worker,client" doc:"debug, info, warn or error"`
	LogFormat string `json:"log_format" default:"text" group:"node,worker,client" doc:"text or json"`
	Server    string `json:"server" group:"worker,client" doc:"URL of the server to use; default: the listen address"`
	Token     string `json:"token" group:"worker,client" secret:"true" doc:"Token for the server; better in token_file or BELFRY_TOKEN than on a command line"`
	TokenFile string `json:"token_file" group:"node,worker,client" doc:"File with the token; default: belfry.token beside the SQLite file, or belfry/token in the user's configuration folder"`
	// InitialTokens is read by ReadTokens.
	InitialTokens string `json:"initial_tokens" group:"node" doc:"YAML file with a list tokens (name, namespace, scopes, secret) that the node creates at its start if the database does not have them: the first tokens of an automated installation, as in a cluster. Revoked tokens stay revoked"`

	CAFile string `json:"ca_file" group:"worker,client" doc:"PEM file of certificate authorities to trust besides the system's in requests to the server: for a server with a private certificate"`

	Namespace string `json:"namespace" default:"default" group:"worker,client" doc:"Namespace of the objects to show or change; * for all"`

	Brokers map[string]string `json:"brokers" group:"node,worker,broker" doc:"Brokers that carry the tickets of a queue, as queue=URL with sqs://REGION/QUEUE or nats://HOST:PORT/STREAM. Remote workers then claim its jobs by tickets, and nodes do not run them"`
}

// Default returns the configuration without any settings.
func Default() Config {
	var c Config
	for _, k := range Keys() {
		if k.Default != "" {
			if err := k.set(&c, k.Default); err != nil {
				panic("config: default of " + k.Name + ": " + err.Error())
			}
		}
	}
	return c
}

// WithDefaults sets the defaults of empty fields.
func (c Config) WithDefaults() Config {
	d := Default()
	for _, k := range Keys() {
		if k.value(&c).IsZero() {
			k.value(&c).Set(k.value(&d))
		}
	}
	return c
}

// Roles of a node.
const (
	RoleAPI    = "api"
	RoleEngine = "engine"
	RoleWorker = "worker"
)

// Has reports whether the node has a role.
func (c Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

// Validate returns all faults of a configuration with defaults, by the names of
// its keys.
func (c Config) Validate() error {
	var p problems
	c.checkPrograms(&p)
	c.checkNames(&p)
	c.checkTimes(&p)
	c.checkURLs(&p)
	c.checkLimits(&p)
	c.checkListener(&p)
	c.checkQueues(&p)
	p = append(p, c.checkBrokers()...)
	p = append(p, c.checkSignIn()...)
	c.checkWorker(&p)
	if len(p) > 0 {
		return &core.Error{Code: core.Invalid, Message: "configuration", Fields: p}
	}
	return nil
}

// problems collects the faults of a configuration.
type problems []core.FieldError

func (p *problems) add(field, value, message, hint string) {
	*p = append(*p, core.FieldError{Field: field, Value: value, Message: message, Hint: hint})
}

func (p *problems) choice(field, value string, choices ...string) {
	if !slices.Contains(choices, value) {
		p.add(field, value, "is not a choice", "one of "+strings.Join(choices, ", "))
	}
}

func (p *problems) span(field string, d, from, to core.Duration) {
	if d < from || d > to {
		p.add(field, d.String(), "is outside "+from.String()+" to "+to.String(), "")
	}
}

// checkPrograms checks roles, and how programs run.
func (c Config) checkPrograms(p *problems) {
	for _, r := range c.Roles {
		p.choice("roles", r, RoleAPI, RoleEngine, RoleWorker)
	}
	if !slices.Contains(task.Isolations, task.Isolation(c.MinIsolation)) {
		p.add("min_isolation", c.MinIsolation, "is not an isolation", "one of "+core.List(task.Isolations))
	}
	if c.ProgramMemory < 0 {
		p.add("program_memory", strconv.FormatInt(c.ProgramMemory, 10), "is below 0", "")
	}
	if !(c.ProgramCPU >= 0) { // also refuses NaN
		p.add("program_cpu", fmt.Sprint(c.ProgramCPU), "is below 0", "")
	}
	if c.CacheSize < 0 {
		p.add("cache_size", strconv.FormatInt(c.CacheSize, 10), "is below 0", "")
	}
}

// checkNames checks names and choices of the node.
func (c Config) checkNames(p *problems) {
	if err := core.ValidName("name", c.Name); c.Name != "" && err != nil {
		p.add("name", c.Name, "is not a name", "letters, digits, dots, dashes and underscores, starting with a letter or digit")
	}
	if !fitSchema.MatchString(c.Schema) || strings.HasPrefix(c.Schema, "pg_") {
		p.add("schema", c.Schema, "must be up to 39 lower-case letters, digits and _, and must not begin with a digit or pg_", "such as belfry")
	}
	p.choice("wakeups", c.Wakeups, "notify", "poll")
	p.choice("log_level", c.LogLevel, "debug", "info", "warn", "error")
	p.choice("log_format", c.LogFormat, "text", "json")
}

// checkTimes checks lengths of time.
func (c Config) checkTimes(p *problems) {
	p.span("session_ttl", c.SessionTTL, job.MinSessionTTL, job.MaxSessionTTL)
	p.span("console_life", c.ConsoleLife, core.Duration(5*time.Minute), core.Duration(400*24*time.Hour))
	p.span("console_idle", c.ConsoleIdle, core.Duration(time.Minute), core.Duration(400*24*time.Hour))
	p.span("grace", c.Grace, 0, core.Duration(24*time.Hour))
	p.span("retention_age", c.RetentionAge, core.Duration(time.Minute), core.Duration(100*366*24*time.Hour))
	p.span("retention_results", c.RetentionResults, core.Duration(time.Hour), core.Duration(400*24*time.Hour))
	p.span("retention_uploads", c.RetentionUploads, core.Duration(time.Hour), core.Duration(400*24*time.Hour))
}

// checkURLs checks URLs of the console and of RDAP.
func (c Config) checkURLs(p *problems) {
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		p.add("public_url", c.PublicURL, "is not a URL", "such as https://belfry.example.com")
	}
	if u, err := url.Parse(c.RDAPBootstrap); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.add("rdap_bootstrap", c.RDAPBootstrap, "is not a URL", "such as https://data.iana.org/rdap/dns.json")
	}
}

// checkLimits checks limits of the history and of connections.
func (c Config) checkLimits(p *problems) {
	if c.RetentionJobs < 1 {
		p.add("retention_jobs", strconv.FormatInt(c.RetentionJobs, 10), "is below 1", "")
	}
	if c.MaxConns < 0 || c.MaxConns > 10_000 {
		p.add("max_conns", strconv.Itoa(c.MaxConns), "is outside 0 to 10000", "")
	}
	if c.MaxClients < 1 || c.MaxClients > 1_000_000 {
		p.add("max_clients", strconv.Itoa(c.MaxClients), "is outside 1 to 1000000", "")
	}
	p.span("body_timeout", c.BodyTimeout, core.Duration(time.Second), core.Duration(time.Hour))
}

// checkListener checks where the node listens, and the server of clients.
func (c Config) checkListener(p *problems) {
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || !isPort(port) {
		p.add("listen", c.Listen, "is not an address with a port", "such as 127.0.0.1:7420, or :7420 for every address")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		p.add("tls_cert", c.TLSCert, "and tls_key belong together", "give both or neither")
	}
	if u, err := url.Parse(c.Server); c.Server != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		p.add("server", c.Server, "is not a URL", "such as http://127.0.0.1:7420")
	}
}

// checkQueues checks the queues that the node works on, and their slots.
func (c Config) checkQueues(p *problems) {
	for name, slots := range c.Queues {
		if core.ValidName("queues", name) != nil || slots < 1 || slots > job.MaxConcurrency {
			p.add("queues", name+"="+strconv.Itoa(slots), "is not a queue and its slots", "such as default=20")
		}
	}
}

// checkWorker checks labels, the choice of queues, addresses and the namespace.
func (c Config) checkWorker(p *problems) {
	if err := task.ValidLabels(c.Labels); err != nil {
		p.add("labels", tableText(c.Labels), "are not labels: "+err.Error(), "such as gpu=true")
	}
	for _, name := range c.OnlyQueues {
		if core.ValidName("only_queues", name) != nil {
			p.add("only_queues", name, "is not the name of a queue", "")
		}
	}
	var be *core.Error
	if _, err := c.Addresses(); errors.As(err, &be) {
		*p = append(*p, be.Fields...)
	}
	if _, err := c.Proxies(); errors.As(err, &be) {
		*p = append(*p, be.Fields...)
	}
	if c.Namespace != core.AnyNamespace && core.ValidName("namespace", c.Namespace) != nil {
		p.add("namespace", c.Namespace, "is not a namespace", "letters, digits, dots, dashes and underscores, or *")
	}
}

// checkBrokers checks the parts of brokers that need no knowledge of their kind.
// Its errors repeat no URL, which may hold a secret in the wrong place.
func (c Config) checkBrokers() (bad []core.FieldError) {
	const hint = "such as render=sqs://eu-central-1/render or render=nats://nats.internal:4222/RENDER"
	taken := map[string]string{}
	for _, queue := range slices.Sorted(maps.Keys(c.Brokers)) {
		say := func(message, hint string) {
			bad = append(bad, core.FieldError{Field: "brokers", Value: queue, Message: message, Hint: hint})
		}
		where, _, _ := strings.Cut(c.Brokers[queue], "?")
		scheme, _, _ := strings.Cut(where, "://")
		switch {
		case core.ValidName("brokers", queue) != nil:
			say("is not the name of a queue", hint)
		case !slices.Contains([]string{"sqs", "nats", "tls"}, scheme):
			say("has not the URL of a broker", hint)
		case taken[where] != "":
			say("has the broker of queue "+taken[where], "give each queue a queue of SQS or a stream of NATS of its own")
		}
		taken[where] = queue
	}
	return bad
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n <= 65535
}

// Proxies returns the address ranges of proxies that are trusted to name the client.
func (c Config) Proxies() ([]netip.Prefix, error) {
	names := c.TrustedProxies
	if len(names) == 0 && c.BehindProxy {
		names = []string{"loopback", "private"}
	}
	ps, err := guard.ParseAllow(names)
	var e *core.Error
	if errors.As(err, &e) {
		for i := range e.Fields {
			e.Fields[i].Field = "trusted_proxies"
		}
	}
	return ps, err
}

// Addresses returns the address ranges of allow_addresses.
func (c Config) Addresses() ([]netip.Prefix, error) { return guard.ParseAllow(c.AllowAddresses) }

// SQLitePath returns the path of the SQLite file, or "" for another database.
func (c Config) SQLitePath() string {
	if isPostgres(c.Database) {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(c.Database, "sqlite:"), "//")
}

// TablePrefix returns the prefix of the table names in an SQLite file.
func (c Config) TablePrefix() string { return c.Schema + "_" }

// fitSchema matches names that SQL need not quote.
var fitSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,38}$`)

// ArtifactStore returns the address of artifacts for package blob, or "" if
// there is none. It has no default with a shared database: its nodes must also
// share the artifacts, at a configured address.
func (c Config) ArtifactStore() string {
	switch scheme, _, found := strings.Cut(c.Artifacts, ":"); {
	case found && (scheme == "s3" || scheme == "folder"):
		return c.Artifacts
	case c.Artifacts != "":
		return "folder:" + c.Artifacts
	case c.SQLitePath() != "":
		return "folder:" + filepath.Join(filepath.Dir(c.SQLitePath()), "artifacts")
	}
	return ""
}

// SealKey returns the file with the key that seals secrets, and whether Belfry
// itself creates it. The path is empty if the configuration must name a file.
func (c Config) SealKey() (path string, own bool) {
	if c.SealKeyFile != "" {
		return c.SealKeyFile, false
	}
	if db := c.SQLitePath(); db != "" {
		return filepath.Join(filepath.Dir(db), "belfry.key"), true
	}
	return "", false
}

func isPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// CheckDatabase returns the fault of a database URL, or nil.
func CheckDatabase(database string) error {
	scheme, _, found := strings.Cut(database, "://")
	if found && !isPostgres(database) && scheme != "sqlite" {
		return core.InvalidField("database", Mask(database), "is of a kind that Belfry does not know",
			"sqlite:PATH, a plain path, or postgres://user:password@host/name")
	}
	switch path := (Config{Database: database}).SQLitePath(); {
	case path == ":memory:":
		return core.InvalidField("database", database, "must name a file: a node keeps a key and artifacts beside it", "such as sqlite:belfry.db")
	case path == "" && !isPostgres(database):
		return core.InvalidField("database", database, "names no file", "such as sqlite:belfry.db")
	}
	return nil
}

var passwordRule = regexp.MustCompile(`(?i)(password|sslpassword|passfile)=('[^']*'|[^&\s]*)`)

// Mask hides the password in a database URL.
func Mask(database string) string {
	one, hosts := oneHost(database)
	if u, err := url.Parse(one); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			if database = u.Redacted(); hosts != "" {
				database = strings.Replace(database, "@"+u.Host, "@"+hosts, 1)
			}
		}
	} else if err != nil && isPostgres(database) {
		return "postgres://(not a valid URL)" // it may hold a password anywhere
	}
	return passwordRule.ReplaceAllString(database, "$1=xxxxx")
}

// oneHost returns an address of PostgreSQL with one of several hosts, which makes it a URL, and the list of hosts as written.
func oneHost(database string) (address, hosts string) {
	if !isPostgres(database) {
		return database, ""
	}
	scheme, rest, _ := strings.Cut(database, "://")
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	user, hosts := authority[:strings.LastIndex(authority, "@")+1], authority[strings.LastIndex(authority, "@")+1:]
	first, _, _ := strings.Cut(hosts, ",")
	return scheme + "://" + user + first + path, hosts
}

// NodeName returns the configured name, or the name of the host.
func (c Config) NodeName() string {
	if c.Name != "" {
		return c.Name
	}
	if host, err := os.Hostname(); err == nil && host != "" {
		return host
	}
	return "belfry"
}

// ServerURL returns the server to use: the configured one, or the one that this
// configuration would start.
func (c Config) ServerURL() string {
	if c.Server != "" {
		return strings.TrimRight(c.Server, "/")
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "http://127.0.0.1:7420"
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http://"
	if c.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}

// StateFolder returns state_dir, or its default for a node, which has a
// database, or for a worker, which has none.
func (c Config) StateFolder(node bool) (string, error) {
	if c.StateDir != "" {
		return filepath.Abs(c.StateDir)
	}
	if file := c.SQLitePath(); node && file != "" {
		return filepath.Abs(filepath.Join(filepath.Dir(file), "belfry.state"))
	}
	if os.Geteuid() == 0 {
		return "/var/lib/belfry", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", core.InvalidField("state_dir", "", "is not given and there is no folder for it", "give one: "+err.Error())
	}
	return filepath.Join(dir, "belfry"), nil
}

// UploadFolder returns the folder of a node for files while they arrive. Without a state folder, it is one for temporary files.
func (c Config) UploadFolder() string {
	dir, err := c.StateFolder(true)
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "uploads")
}

// IsLoopback reports whether an address with a port can be reached from this
// machine only.
func IsLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
