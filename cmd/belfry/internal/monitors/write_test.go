package monitors

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

func TestFlagsMakeMonitors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]func(m monitor.Monitor) bool{
		"--url https://a.example --method HEAD --header A:b --bearer x --expect-status 200,301-399": func(m monitor.Monitor) bool {
			h := m.Check.HTTP
			return h.Method == "HEAD" && h.Headers["A"] == "b" && h.Auth.Bearer == "x" && len(h.ExpectStatus) == 2
		},
		"--page https://a.example --xpath //li --mask numbers,dates --baseline pinned --recheck 5s": func(m monitor.Monitor) bool {
			return m.Check.Page.XPath == "//li" && len(m.Check.Page.Mask) == 2 && m.Check.Page.Baseline == task.BaselinePinned
		},
		"--tcp a.example:25 --send EHLO --expect ^220": func(m monitor.Monitor) bool { return m.Check.TCP.Expect == "^220" },
		"--dns a.example --record mx --answer x --exact --resolver 9.9.9.9": func(m monitor.Monitor) bool {
			return m.Check.DNS.Exact && m.Check.DNS.Server == "9.9.9.9"
		},
		"--tls a.example --warn-days 30 --starttls smtp": func(m monitor.Monitor) bool { return m.Check.TLS.WarnDays == 30 },
		"--ping a.example --count 5 --max-loss 20":       func(m monitor.Monitor) bool { return m.Check.Ping.MaxLoss == 20 },
		"--grpc a.example:443 --service s --plaintext":   func(m monitor.Monitor) bool { return m.Check.GRPC.Plaintext },
		"--websocket wss://a.example --header A:b":       func(m monitor.Monitor) bool { return m.Check.WebSocket.Headers["A"] == "b" },
		"--udp a.example:27015 --send-hex ff54 --expect x": func(m monitor.Monitor) bool {
			return m.Check.UDP.SendHex == "ff54" && m.Check.UDP.Expect == "x"
		},
		"--domain a.example --warn-days 30 --registry whois://whois.nic.example": func(m monitor.Monitor) bool {
			return m.Check.Domain.WarnDays == 30 && m.Check.Domain.Server == "whois://whois.nic.example"
		},
		"--command true --timeout 5s": func(m monitor.Monitor) bool { return m.Check.Command.Shell == "true" },
		"--heartbeat --every 1h --grace 10m --max-runtime 2h": func(m monitor.Monitor) bool {
			return m.Heartbeat.Grace.String() == "10m" && m.Every.String() == "1h"
		},
		"--url https://a.example --failing-for 2m --passing-for 1m --confirm-after=-1s --no-slow --no-flapping --muted": func(m monitor.Monitor) bool {
			return m.Confirm.For.String() == "2m" && m.Confirm.Retry < 0 && m.Slow.Off && m.Flap.Off && m.Muted
		},
	} {
		var f monitorFlags
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.add(fs)
		if err := fs.Parse(strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		m := monitor.Monitor{Name: "m"}
		err := f.apply(cli.New(strings.NewReader(""), io.Discard, io.Discard, nil), fs, &m)
		if err != nil || !want(m) {
			t.Errorf("%s: %v, got %+v", line, err, m)
			continue
		}
		full := m.WithDefaults()
		if err := full.Validate(full.CreatedAt); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestAnEditWritesToNothingShared(t *testing.T) {
	t.Parallel()
	shared := &task.HTTP{URL: "https://a.example", Auth: &task.HTTPAuth{Bearer: "old"}}
	m := monitor.Monitor{Name: "m", Check: task.Task{Kind: task.KindHTTP, HTTP: shared}}
	var f monitorFlags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(fs)
	if err := fs.Parse([]string{"--url", "https://b.example", "--bearer", "new"}); err != nil {
		t.Fatal(err)
	}
	if err := f.apply(cli.New(nil, io.Discard, io.Discard, nil), fs, &m); err != nil {
		t.Fatal(err)
	}
	if shared.URL != "https://a.example" || shared.Auth.Bearer != "old" {
		t.Errorf("changed to %+v with %+v", shared, shared.Auth)
	}
}
