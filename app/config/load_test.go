package config

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "belfry.config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecedenceIsFlagEnvironmentFileDefault(t *testing.T) {
	t.Parallel()
	path := file(t, "listen: 127.0.0.1:1\ngrace: 1m\nlog_level: warn\nqueues: {default: 3}\nallow_commands: true\n")
	l, err := Load(Input{
		File:  path,
		Env:   env("BELFRY_LISTEN", "127.0.0.1:2", "BELFRY_GRACE", "2m", "BELFRY_ROLES", "api, engine"),
		Flags: map[string]string{"listen": "127.0.0.1:3", "only_queues": "a,b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.Listen != "127.0.0.1:3" || l.Grace != core.Duration(2*time.Minute) || l.LogLevel != "warn" ||
		l.Queues["default"] != 3 || !l.AllowCommands || strings.Join(l.Roles, "+") != "api+engine" ||
		strings.Join(l.OnlyQueues, "+") != "a+b" || l.RetentionJobs != 1_000_000 {
		t.Errorf("got %+v", l.Config)
	}
	for key, want := range map[string]string{
		"listen": "flag --listen", "grace": "environment BELFRY_GRACE", "log_level": "file " + path + ":3",
		"queues": "file " + path + ":4", "retention_jobs": "default", "only_queues": "flag --only-queues",
	} {
		if got := l.Source(key); got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
}

func TestDatabaseURLIsTheFallback(t *testing.T) {
	t.Parallel()
	url := "postgres://me:secret@db/x"
	for name, tc := range map[string]struct {
		in           Input
		want, source string
	}{
		"alone":       {Input{Env: env("DATABASE_URL", url)}, url, "environment DATABASE_URL"},
		"beside ours": {Input{Env: env("DATABASE_URL", url, "BELFRY_DATABASE", "x.db")}, "x.db", "environment BELFRY_DATABASE"},
		"beside flag": {Input{Env: env("DATABASE_URL", url), Flags: map[string]string{"database": "y.db"}}, "y.db", "flag --database"},
		"beside file": {Input{Env: env("DATABASE_URL", url), File: file(t, "database: z.db")}, "z.db", "file"},
	} {
		l, err := Load(tc.in)
		if err != nil || l.Database != tc.want || !strings.HasPrefix(l.Source("database"), tc.source) {
			t.Errorf("%s: got %q from %q, %v", name, l.Database, l.Source("database"), err)
		}
	}
}

func TestConfigurationFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   Input
		says []string
	}{
		"unknown key":   {Input{File: file(t, "listn: x")}, []string{":1:1: listn", "did you mean listen?"}},
		"value in file": {Input{File: file(t, "listen: 127.0.0.1:1\nroles: [api, enigne]")}, []string{":2:8", `roles "enigne"`, "one of api, engine, worker"}},
		"two documents": {Input{File: file(t, "listen: 127.0.0.1:1\n---\ngrace: 1s")}, []string{"second document"}},
		"no file":       {Input{File: filepath.Join(t.TempDir(), "none.yaml")}, []string{"does not exist", "flag --config"}},
		"environment":   {Input{Env: env("BELFRY_GRACE", "30")}, []string{"environment BELFRY_GRACE", "no unit"}},
		"value in env":  {Input{Env: env("BELFRY_LOG_LEVEL", "loud")}, []string{"environment BELFRY_LOG_LEVEL", "debug, info"}},
		"flag":          {Input{Flags: map[string]string{"queues": "default"}}, []string{"flag --queues", "name=number"}},
		"broker":        {Input{Env: env("BELFRY_BROKERS", "sqs://me:hunter2@x/y")}, []string{"environment BELFRY_BROKERS", "name=text"}},
		"its scheme":    {Input{Flags: map[string]string{"brokers": "render=http://me:hunter2@x/y"}}, []string{"flag --brokers", `"render"`, "URL of a broker"}},
		"its queue":     {Input{Flags: map[string]string{"brokers": "a b=sqs://x/y"}}, []string{"flag --brokers", "not the name of a queue"}},
		"shared broker": {Input{File: file(t, "brokers:\n  a: sqs://x/y\n  b: sqs://x/y?dead=z\n")}, []string{`"b"`, "broker of queue a"}},
		"labels":        {Input{Flags: map[string]string{"labels": "gpu=a b"}}, []string{"flag --labels", "gpu=a b", "not the value of a label"}},
		"no labels":     {Input{Flags: map[string]string{"labels": "gpu"}}, []string{"flag --labels", "name=text"}},
		"schema":        {Input{Flags: map[string]string{"schema": "Belfry"}}, []string{"flag --schema", "lower-case letters"}},
		"memory":        {Input{Flags: map[string]string{"database": "sqlite::memory:"}}, []string{"flag --database", "must name a file"}},
		"listen":        {Input{Flags: map[string]string{"listen": "7420"}}, []string{"flag --listen", "127.0.0.1:7420"}},
		"half of TLS":   {Input{Flags: map[string]string{"tls_cert": "c.pem"}}, []string{"tls_key"}},
		"addresses":     {Input{Flags: map[string]string{"allow_addresses": "10.0.0.0/99"}}, []string{"flag --allow-addresses"}},
		"database":      {Input{Flags: map[string]string{"database": "mysql://root:hunter2@x/y"}}, []string{"flag --database", "does not know"}},
		"a name":        {Input{Flags: map[string]string{"name": "node one/ü"}}, []string{"flag --name", "is not a name"}},
		"session ttl":   {Input{Flags: map[string]string{"session_ttl": "1ms"}}, []string{"outside 1s to 10m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.in.Env == nil {
				tc.in.Env = env()
			}
			_, err := Load(tc.in)
			if core.CodeOf(err) != core.Invalid {
				t.Fatalf("got %v", err)
			}
			for _, want := range tc.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q tells the password", err)
			}
		})
	}
}

func TestBrokersAreReadFromFileAndText(t *testing.T) {
	t.Parallel()
	want := map[string]string{"render": "sqs://eu-central-1/render?dead=poison", "mail": "nats://n:4222/MAIL?servers=m:4222%2Co:4222"}
	for name, in := range map[string]Input{
		"file":        {File: file(t, "brokers:\n  render: sqs://eu-central-1/render?dead=poison\n  mail: nats://n:4222/MAIL?servers=m:4222%2Co:4222\n"), Env: env()},
		"environment": {Env: env("BELFRY_BROKERS", "render=sqs://eu-central-1/render?dead=poison, mail=nats://n:4222/MAIL?servers=m:4222%2Co:4222")},
	} {
		l, err := Load(in)
		if err != nil || !maps.Equal(l.Brokers, want) {
			t.Errorf("%s: %v, %v", name, l.Brokers, err)
		}
		for _, k := range Keys() {
			if text := k.Text(l.Config); k.Name == "brokers" && !strings.Contains(text, "render=sqs://eu-central-1/render?dead=poison") {
				t.Error(text)
			}
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"postgres://belfry:hunter2@one:5432,two:5433/db?target_session_attrs=read-write": "postgres://belfry:xxxxx@one:5432,two:5433/db?target_session_attrs=read-write",
		"postgres://belfry@one,two:1/db":                                                 "postgres://belfry@one,two:1/db",
		"postgres://u:hunter2@[::1]:1,[::2]:2/x":                                         "postgres://u:xxxxx@[::1]:1,[::2]:2/x",
		"postgres://me:secret@db/x":                                                      "postgres://me:xxxxx@db/x",
		"postgres://db/x?user=me&password=secret&sslmode=x":                              "postgres://db/x?user=me&password=xxxxx&sslmode=x",
		"postgres://me:se%cret@db/x":                                                     "postgres://(not a valid URL)",
		"postgres://me@db/x":                                                             "postgres://me@db/x",
		"sqlite:belfry.db":                                                               "sqlite:belfry.db",
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
	c := Default()
	c.Token = "secret"
	for _, k := range Keys() {
		if strings.Contains(k.Text(c), "secret") {
			t.Errorf("%s shows its secret", k.Name)
		}
	}
}

func TestServerURL(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Config{
		"http://127.0.0.1:7420":  Default(),
		"http://127.0.0.1:1":     {Listen: ":1"},
		"http://127.0.0.1:2":     {Listen: "0.0.0.0:2"},
		"https://127.0.0.1:3":    {Listen: "[::]:3", TLSCert: "c"},
		"http://[::1]:4":         {Listen: "[::1]:4"},
		"https://x.example/base": {Listen: ":5", Server: "https://x.example/base/"},
	} {
		if got := c.ServerURL(); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

func TestWithDefaultsFillsOnlyEmptyFields(t *testing.T) {
	t.Parallel()
	c := Config{Listen: "127.0.0.1:1", Roles: []string{RoleAPI}}.WithDefaults()
	if c.Listen != "127.0.0.1:1" || c.Has(RoleEngine) || c.Database != "sqlite:belfry.db" || c.SQLitePath() != "belfry.db" {
		t.Errorf("got %+v", c)
	}
	if err := Default().Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}
