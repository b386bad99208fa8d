//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/internal/bench/process"
)

func (f *field) wanted(c *contender) bool { return strings.Contains(c.name, f.only) }

// freePort returns a port that had no listener a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// blackbox starts the exporter and requests every probe: spread evenly as by Prometheus, or all due probes of a step at
// once, as Belfry starts its checks.
func (f *field) blackbox(step time.Duration) func(context.Context, *contender) (*running, error) {
	return func(ctx context.Context, c *contender) (*running, error) {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		// The module of the exporter's example file, with the address family of the target.
		file := f.path("blackbox.yml")
		if err := os.WriteFile(file, []byte("modules: {http_2xx: {prober: http, http: {preferred_ip_protocol: ip4}}}\n"), 0o600); err != nil {
			return nil, err
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		p, err := process.Start(exec.Command(f.programs["blackbox"], "--config.file="+file, "--web.listen-address="+address))
		if err != nil {
			return nil, err
		}
		if err := ready(ctx, p, "http://"+address+"/-/healthy"); err != nil {
			return nil, errors.Join(err, p.Stop())
		}
		ctx, cancel := context.WithCancel(ctx)
		asked := make(chan error, 1)
		go func() { asked <- f.ask(ctx, c, "http://"+address+"/probe?module=http_2xx&target=", step) }()
		return &running{Process: p, stop: func() error {
			cancel()
			return errors.Join(<-asked, p.Stop())
		}}, nil
	}
}

// ask probes each monitor repeatedly until the context ends. A late probe does not move the later ones.
func (f *field) ask(ctx context.Context, c *contender, prefix string, step time.Duration) (err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	defer client.CloseIdleConnections()
	gap := c.every / time.Duration(c.monitors)
	var probes sync.WaitGroup
	var mu sync.Mutex
	fail := func(e error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil && ctx.Err() == nil {
			err = e
		}
	}
	begun := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		due := time.Duration(i) * gap
		if step > 0 {
			due = due.Truncate(step) + step
		}
		wait(ctx, time.Until(begun.Add(due)))
		probes.Go(func() {
			if e := get(ctx, client, prefix+url.QueryEscape(f.target.URL(i%c.monitors)), "probe_success 1"); e != nil {
				fail(e)
			}
		})
	}
	probes.Wait()
	return err
}

func get(ctx context.Context, client *http.Client, address, holds string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(text), holds)) {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

// ready waits until a program answers.
func ready(ctx context.Context, p *process.Process, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := get(ctx, http.DefaultClient, address, "")
		if err == nil {
			return nil
		}
		select {
		case <-p.Done:
			return p.Trouble(errors.New("it ended"))
		case <-ctx.Done():
			return p.Trouble(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// gatus starts Gatus with an endpoint for each monitor. Its lock, which lets one check run at a time, is off, as its
// documents advise for many endpoints.
func (f *field) gatus(storage string) func(context.Context, *contender) (*running, error) {
	return func(ctx context.Context, c *contender) (*running, error) {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp(f.dir, "gatus-")
		if err != nil {
			return nil, err
		}
		type object map[string]any
		var endpoints []object
		for i := range c.monitors {
			endpoints = append(endpoints, object{
				"name": fmt.Sprintf("m-%05d", i), "url": f.target.URL(i), "interval": c.every.String(), "conditions": []string{"[STATUS] == 200"},
			})
		}
		config := object{"web": object{"address": "127.0.0.1", "port": port}, "disable-monitoring-lock": true, "endpoints": endpoints}
		if storage == "sqlite" {
			config["storage"] = object{"type": "sqlite", "path": dir + "/gatus.db"}
		}
		text, err := json.Marshal(config) // JSON is valid YAML
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(dir+"/config.yaml", text, 0o600); err != nil {
			return nil, err
		}
		cmd := exec.Command(f.programs["gatus"])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GATUS_CONFIG_PATH="+dir+"/config.yaml")
		p, err := process.Start(cmd)
		if err != nil {
			return nil, err
		}
		return &running{Process: p, stop: p.Stop}, nil
	}
}
