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

// Config is everything that can be set, on a node, a remote worker or a
// client. A field has one name everywhere: session_ttl in the file is
// BELFRY_SESSION_TTL in the environment and --session-ttl on the command line.
type Config struct {
	Database         string            `json:"database" default:"sqlite:belfry.db" group:"node,client" doc:"Where state is kept: sqlite:PATH, a plain path, or postgres://…; also DATABASE_URL"`
	Listen           string            `json:"listen" default:"127.0.0.1:7420" group:"node" doc:"Address of the API"`
	Roles            []string          `json:"roles" default:"api,engine,worker" group:"node" doc:"What this node does"`
	AllowCommands    bool              `json:"allow_commands" default:"false" group:"node,worker" doc:"Run tasks of kind command here. Users who may create tasks may then run any program as this user"`
	RefusePrograms   bool              `json:"refuse_programs" default:"false" group:"node,worker" doc:"Run no uploaded programs here. Otherwise they run in a sandbox, where it is as strong as min_isolation"`
	MinIsolation     string            `json:"min_isolation" default:"confined" group:"node,worker" doc:"Weakest isolation under which uploaded programs run here: none, user, confined, namespaces or gvisor; a task may ask for more"`
	RequireLimits    bool              `json:"require_limits" default:"false" group:"node,worker" doc:"Run no uploaded programs where memory, processes or processors of a run cannot be limited for all its processes together, which takes control groups"`
	ProgramMemory    int64             `json:"program_memory" default:"0" group:"node,worker" doc:"Bytes of memory for uploaded programs here: limits.memory of those that run at once stays within it in sum; 0: all that this machine or its control group has"`
	ProgramCPU       float64           `json:"program_cpu" default:"0" group:"node,worker" doc:"Processors for uploaded programs here: one whose limits.cpu is higher does not run here; 0: all that this machine or its control group has"`
	AllowNetwork     bool              `json:"allow_network" default:"false" group:"node,worker" doc:"Let uploaded programs use this machine's network if their task asks for it. They then reach public addresses, those of allow_addresses, and its name servers; that takes root and control groups of version 2"`
	UnguardedNetwork bool              `json:"unguarded_network" default:"false" group:"node,worker" doc:"Let programs with the network reach all that this machine reaches, its loopback and a cloud's metadata too: where something outside keeps them from it"`
	Runsc            string            `json:"runsc" group:"node,worker" doc:"gVisor's program, a path or a name in PATH: uploaded programs then run under isolation gvisor where it works, which takes root. Default: none"`
	StateDir         string            `json:"state_dir" group:"node,worker" doc:"Folder for uploaded programs and results under way; default: belfry.state beside the SQLite file, /var/lib/belfry for root, or belfry in the user's cache folder"`
	CacheSize        int64             `json:"cache_size" default:"1073741824" group:"node,worker" doc:"Bytes of uploaded programs kept for their next run"`
	AllowAddresses   []string          `json:"allow_addresses" group:"node,worker" doc:"Addresses that http tasks, and programs with the network, may reach besides public ones: loopback, private, link-local, an address, or a range such as 10.1.0.0/16"`
	RDAPBootstrap    string            `json:"rdap_bootstrap" default:"https://data.iana.org/rdap/dns.json" group:"node,worker" doc:"URL of the file that names the RDAP server of each top-level domain (RFC 9224), for monitors of kind domain"`
	Queues           map[string]int    `json:"queues" group:"node,worker" doc:"Slots on this node per queue, instead of the queue's own concurrency, as name=slots"`
	Labels           map[string]string `json:"labels" group:"node,worker" doc:"What this machine has that tasks may need, as name=value such as gpu=true; at most 64. On the command line also as --label, repeated"`

	OnlyQueues       []string      `json:"only_queues" group:"node,worker" doc:"Serve these queues and no others; default: all"`
	Name             string        `json:"name" group:"node,worker" doc:"What this node or worker is called; default: the host's name"`
	Grace            core.Duration `json:"grace" default:"30s" group:"node,worker" doc:"How long a stop waits for running jobs before it hands them back"`
	SessionTTL       core.Duration `json:"session_ttl" default:"30s" group:"node" doc:"How long a worker lives without a sign before its jobs are given to others"`
	RetentionAge     core.Duration `json:"retention_age" default:"30d" group:"node" doc:"How long finished jobs, attempts, logs and occurrences are kept"`
	RetentionJobs    int64         `json:"retention_jobs" default:"1000000" group:"node" doc:"How many finished jobs are kept at most"`
	RetentionResults core.Duration `json:"retention_results" default:"7d" group:"node" doc:"How long single results of monitors are kept; their hours stay for 100 days, their days and uptime for ever"`
	RetentionUploads core.Duration `json:"retention_uploads" default:"24h" group:"node" doc:"How long an artifact that was announced and never uploaded is remembered, unless a task names it"`
	Artifacts        string        `json:"artifacts" group:"node" doc:"Where uploaded programs lie: a folder, or s3://BUCKET/PREFIX?region=…&endpoint=…&public_endpoint=…; default: the folder artifacts beside the SQLite file. Nodes on PostgreSQL need a bucket, or a folder that all of them share"`
	SealKeyFile      string        `json:"seal_key_file" group:"node" doc:"File with the key that secrets are sealed with, 64 hexadecimal digits; the first line seals, the others only open. Default: belfry.key beside the SQLite file, made when it is first needed; nodes on PostgreSQL must be given one"`
	PublicURL        string        `json:"public_url" group:"node" doc:"Where others reach this node, for links in alerts, the URLs of heartbeats and the feeds of status pages, such as https://belfry.example.com or https://example.com/belfry"`
	NoConsole        bool          `json:"no_console" default:"false" group:"node" doc:"Serve the API without the web interface"`
	ConsoleIdle      core.Duration `json:"console_idle" default:"24h" group:"node" doc:"How long a user stays signed in to the web interface without a request"`
	ConsoleLife      core.Duration `json:"console_life" default:"14d" group:"node" doc:"How long a user stays signed in to the web interface in all"`

	OIDCIssuer      string            `json:"oidc_issuer" group:"node" doc:"URL of a provider of OpenID Connect through which people may sign in to the web interface, as it writes itself, to the last slash. The node must have a public_url with https, or be for its own machine"`
	OIDCClientID    string            `json:"oidc_client_id" group:"node" doc:"What the provider calls this client. It sends people back to public_url with /sign-in/oidc/callback behind it"`
	OIDCSecretFile  string            `json:"oidc_client_secret_file" group:"node" doc:"File with the client's secret; default: it has none"`
	OIDCScopes      []string          `json:"oidc_scopes" default:"openid,profile,email" group:"node" doc:"What to ask the provider for; some need another scope, often groups, to send groups"`
	OIDCGroupsClaim string            `json:"oidc_groups_claim" default:"groups" group:"node" doc:"The claim that names the groups of a user"`
	OIDCNameClaim   string            `json:"oidc_name_claim" default:"email" group:"node" doc:"The claim that names a user in the audit, such as email or preferred_username; take one that people cannot choose for themselves"`
	OIDCGroups      map[string]string `json:"oidc_groups" group:"node" doc:"What groups may do, as group=namespace:scope with read, operate or admin, such as ops=*:admin; several with spaces between"`
	OIDCDefault     string            `json:"oidc_default" group:"node" doc:"What everybody may do whom the provider lets in, such as default:read; default: groups alone count"`

	Schema      string `json:"schema" default:"belfry" group:"node,client" doc:"PostgreSQL schema of the tables, made where it is missing; on SQLite their names begin with it and _. Nodes of one database and one schema are one installation"`
	Wakeups     string `json:"wakeups" default:"notify" group:"node" doc:"How nodes on PostgreSQL wake each other: notify, or poll behind a pooler without LISTEN"`
	MaxConns    int    `json:"max_conns" default:"0" group:"node" doc:"Connections to PostgreSQL; 0: chosen by the size of the machine"`
	TLSCert     string `json:"tls_cert" group:"node" doc:"Certificate chain of the API, PEM"`
	TLSKey      string `json:"tls_key" group:"node" doc:"Key of the certificate, PEM"`
	BehindProxy bool   `json:"behind_proxy" default:"false" group:"node" doc:"A proxy in front ends TLS: listen in the clear on an address others can reach. Proxies at loopback and private addresses are trusted to name the client, unless trusted_proxies names others"`

	TrustedProxies []string `json:"trusted_proxies" group:"node" doc:"Proxies whose X-Forwarded-For or Forwarded header names the client: loopback, private, an address, or a range such as 10.1.0.0/16; default: none, or loopback and private with behind_proxy"`

	MaxClients  int           `json:"max_clients" default:"10000" group:"node" doc:"Open connections to the API, its pages and streams, half of them for one address, and at most three quarters of the files that the node may open; more take the place of one without a request, or wait. As many requests of HTTP/2 may be under way; more are reset"`
	BodyTimeout core.Duration `json:"body_timeout" default:"30s" group:"node" doc:"How long a client may take to send the body of a request"`

	LogLevel  string `json:"log_level" default:"info" group:"node,worker,client" doc:"debug, info, warn or error"`
	LogFormat string `json:"log_format" default:"text" group:"node,worker,client" doc:"text or json"`
	Server    string `json:"server" group:"worker,client" doc:"URL of the server to use; default: the listen address"`
	Token     string `json:"token" group:"worker,client" secret:"true" doc:"Token for the server; better in token_file or BELFRY_TOKEN than on a command line"`
	TokenFile string `json:"token_file" group:"node,worker,client" doc:"File with the token; default: belfry.token beside the SQLite file, or belfry/token in the user's configuration folder"`
	// InitialTokens is read by ReadTokens.
	InitialTokens string `json:"initial_tokens" group:"node" doc:"YAML file with a list tokens (name, namespace, scopes, secret) that the node creates at its start where the database does not have them: the first tokens of an installation that starts by itself, as in a cluster. What was revoked stays revoked"`

	CAFile string `json:"ca_file" group:"worker,client" doc:"PEM file of authorities to trust besides the system's when the server is asked: for a server whose certificate is of a private one"`

	Namespace string `json:"namespace" default:"default" group:"worker,client" doc:"Owner of what is shown or changed; * for all"`

	Brokers map[string]string `json:"brokers" group:"node,worker,broker" doc:"Brokers that ring for the workers of a queue, as queue=URL with sqs://REGION/QUEUE or nats://HOST:PORT/STREAM; workers elsewhere then claim its jobs by tickets, and nodes leave it to them"`
}

// Default is the configuration without any settings.
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

// WithDefaults fills what was left out.
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

// Validate says everything that is wrong with a configuration that has its
// defaults, by the names of its keys.
func (c Config) Validate() error {
	e := &core.Error{Code: core.Invalid, Message: "configuration"}
	bad := func(field, value, message, hint string) {
		e.Fields = append(e.Fields, core.FieldError{Field: field, Value: value, Message: message, Hint: hint})
	}
	choice := func(field, value string, choices ...string) {
		if !slices.Contains(choices, value) {
			bad(field, value, "is not a choice", "one of "+strings.Join(choices, ", "))
		}
	}
	span := func(field string, d, from, to core.Duration) {
		if d < from || d > to {
			bad(field, d.String(), "is outside "+from.String()+" to "+to.String(), "")
		}
	}
	for _, r := range c.Roles {
		choice("roles", r, RoleAPI, RoleEngine, RoleWorker)
	}
	if !slices.Contains(task.Isolations, task.Isolation(c.MinIsolation)) {
		bad("min_isolation", c.MinIsolation, "is not an isolation", "one of "+core.List(task.Isolations))
	}
	if c.ProgramMemory < 0 {
		bad("program_memory", strconv.FormatInt(c.ProgramMemory, 10), "is below 0", "")
	}
	if !(c.ProgramCPU >= 0) { // so that NaN is refused
		bad("program_cpu", fmt.Sprint(c.ProgramCPU), "is below 0", "")
	}
	if c.CacheSize < 0 {
		bad("cache_size", strconv.FormatInt(c.CacheSize, 10), "is below 0", "")
	}
	if err := core.ValidName("name", c.Name); c.Name != "" && err != nil {
		bad("name", c.Name, "is not a name", "letters, digits, dots, dashes and underscores, starting with a letter or digit")
	}
	if !fitSchema.MatchString(c.Schema) || strings.HasPrefix(c.Schema, "pg_") {
		bad("schema", c.Schema, "must be up to 39 lower-case letters, digits and _, and must not begin with a digit or pg_", "such as belfry")
	}
	choice("wakeups", c.Wakeups, "notify", "poll")
	choice("log_level", c.LogLevel, "debug", "info", "warn", "error")
	choice("log_format", c.LogFormat, "text", "json")
	span("session_ttl", c.SessionTTL, job.MinSessionTTL, job.MaxSessionTTL)
	span("console_life", c.ConsoleLife, core.Duration(5*time.Minute), core.Duration(400*24*time.Hour))
	span("console_idle", c.ConsoleIdle, core.Duration(time.Minute), core.Duration(400*24*time.Hour))
	span("grace", c.Grace, 0, core.Duration(24*time.Hour))
	span("retention_age", c.RetentionAge, core.Duration(time.Minute), core.Duration(100*366*24*time.Hour))
	span("retention_results", c.RetentionResults, core.Duration(time.Hour), core.Duration(400*24*time.Hour))
	span("retention_uploads", c.RetentionUploads, core.Duration(time.Hour), core.Duration(400*24*time.Hour))
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		bad("public_url", c.PublicURL, "is not a URL", "such as https://belfry.example.com")
	}
	if u, err := url.Parse(c.RDAPBootstrap); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		bad("rdap_bootstrap", c.RDAPBootstrap, "is not a URL", "such as https://data.iana.org/rdap/dns.json")
	}
	if c.RetentionJobs < 1 {
		bad("retention_jobs", strconv.FormatInt(c.RetentionJobs, 10), "is below 1", "")
	}
	if c.MaxConns < 0 || c.MaxConns > 10_000 {
		bad("max_conns", strconv.Itoa(c.MaxConns), "is outside 0 to 10000", "")
	}
	if c.MaxClients < 1 || c.MaxClients > 1_000_000 {
		bad("max_clients", strconv.Itoa(c.MaxClients), "is outside 1 to 1000000", "")
	}
	span("body_timeout", c.BodyTimeout, core.Duration(time.Second), core.Duration(time.Hour))
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || !isPort(port) {
		bad("listen", c.Listen, "is not an address with a port", "such as 127.0.0.1:7420, or :7420 for every address")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		bad("tls_cert", c.TLSCert, "and tls_key belong together", "give both or neither")
	}
	if u, err := url.Parse(c.Server); c.Server != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		bad("server", c.Server, "is not a URL", "such as http://127.0.0.1:7420")
	}
	for name, slots := range c.Queues {
		if core.ValidName("queues", name) != nil || slots < 1 || slots > job.MaxConcurrency {
			bad("queues", name+"="+strconv.Itoa(slots), "is not a queue and its slots", "such as default=20")
		}
	}
	e.Fields = append(e.Fields, c.checkBrokers()...)
	e.Fields = append(e.Fields, c.checkSignIn()...)
	if err := task.ValidLabels(c.Labels); err != nil {
		bad("labels", tableText(c.Labels), "are not labels: "+err.Error(), "such as gpu=true")
	}
	for _, name := range c.OnlyQueues {
		if core.ValidName("only_queues", name) != nil {
			bad("only_queues", name, "is not the name of a queue", "")
		}
	}
	var be *core.Error
	if _, err := c.Addresses(); errors.As(err, &be) {
		e.Fields = append(e.Fields, be.Fields...)
	}
	if _, err := c.Proxies(); errors.As(err, &be) {
		e.Fields = append(e.Fields, be.Fields...)
	}
	if c.Namespace != core.AnyNamespace && core.ValidName("namespace", c.Namespace) != nil {
		bad("namespace", c.Namespace, "is not a namespace", "letters, digits, dots, dashes and underscores, or *")
	}
	if len(e.Fields) > 0 {
		return e
	}
	return nil
}

// checkBrokers sees to what needs no knowledge of a broker. It repeats no URL,
// which may hold a secret in the wrong place.
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

// Proxies is every range of proxies that are trusted to name the client.
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

// Addresses is every range that allow_addresses names.
func (c Config) Addresses() ([]netip.Prefix, error) { return guard.ParseAllow(c.AllowAddresses) }

// SQLitePath is the path of the SQLite file, or empty for another database.
func (c Config) SQLitePath() string {
	if isPostgres(c.Database) {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(c.Database, "sqlite:"), "//")
}

// TablePrefix is what the names of the tables in a SQLite file begin with.
func (c Config) TablePrefix() string { return c.Schema + "_" }

// fitSchema has no name that SQL would have to quote.
var fitSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,38}$`)

// ArtifactStore is the address of the artifacts as package blob has it, or
// empty if there is none: nodes that share a database share a place for these
// too, which the configuration has to name.
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

// SealKey is the file with the key that secrets are sealed with, and whether it
// is Belfry's own. It is empty where the configuration has to name one.
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

// CheckDatabase says what is wrong with a database URL, or nil.
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

// oneHost leaves one host of several in an address of PostgreSQL, which is a URL then, and answers them all as they stand.
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

// NodeName is the name, or the host's.
func (c Config) NodeName() string {
	if c.Name != "" {
		return c.Name
	}
	if host, err := os.Hostname(); err == nil && host != "" {
		return host
	}
	return "belfry"
}

// ServerURL is the server to use: the one that is set, or the one that this
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

// StateFolder is state_dir, or where it is by default for a node, which has a
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
