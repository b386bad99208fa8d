package probe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/probe"
)

// together looks at many targets at once, four checks each.
func together(t *testing.T, addresses []string) (ex *probe.Executor, cancel, done func()) {
	t.Helper()
	ex = probe.New(probe.Options{Guard: local})
	t.Cleanup(ex.Close)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, address := range addresses {
		for range 4 {
			all.Go(func() { ex.Measure(ctx, get("https://"+address)) })
		}
	}
	return ex, stop, all.Wait
}

func run(task belfry.Task, trigger belfry.Trigger) *worker.Run {
	task.Name = "a"
	task = task.WithDefaults()
	return &worker.Run{Task: &task, Job: &belfry.Job{ID: 7, Kind: task.Kind, Trigger: trigger, Attempt: 1}, Lease: 3, Log: io.Discard}
}

func TestACheckReportsWhatItSawAndHasSucceeded(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	for _, task := range []belfry.Task{get(s.URL), {TCP: &belfry.TCP{Address: addressOf(s), Send: "x\r\n\r\n", Expect: "^220"}}, {GRPC: &belfry.GRPC{Address: addressOf(s), Plaintext: true}}} {
		r := run(task, belfry.TriggerCheck)
		f := ex.Kinds()[r.Task.Kind].Execute(t.Context(), r)
		if f.Outcome != belfry.OutcomeOK || f.Error != "" || f.Check == nil || f.Check.Outcome != belfry.CheckFail || f.Ref != r.Ref() || f.Output != nil || f.Validate() != nil {
			t.Errorf("%s: %+v", r.Task.Kind, f)
		}
	}
}

func TestAJobOfAnyKindFailsWhenTheAnswerIsNotGood(t *testing.T) {
	t.Parallel()
	address := raw(t, func(c net.Conn) { _, _ = io.WriteString(c, "220 ready\r\n") })
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	for want, task := range map[string]belfry.Task{
		"": {TCP: &belfry.TCP{Address: address, Expect: "^220"}},
		"expect: expected an answer that matches": {TCP: &belfry.TCP{Address: address, Expect: "^221"}},
		"blocked_policy: ":                        {TCP: &belfry.TCP{Address: "127.0.0.2:1"}},
	} {
		task.Name = "a"
		var log bytes.Buffer
		f := worker.Direct(t.Context(), ex.Kinds(), task, nil, io.Discard, &log)
		var m belfry.Measure
		if err := json.Unmarshal(f.Output, &m); err != nil || f.Check != nil || (f.Outcome == belfry.OutcomeOK) != (want == "") || !strings.HasPrefix(f.Error, want) {
			t.Errorf("%+v %v", f, err)
		}
		if f.NoRetry != (m.Outcome == belfry.CheckError) || m.Snapshot != nil || log.Len() == 0 {
			t.Errorf("%+v, log %s", f, log.String())
		}
	}
}

func TestConditionsHoldForJobsToo(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "fine") })
	conditions := func(task *belfry.Task) {
		task.Conditions, task.Warnings = []string{"body == 'bad'"}, []string{"status == 1"}
	}
	if r := ask(t, belfry.HTTP{URL: s.URL}, conditions); r.Outcome != belfry.OutcomeError || !strings.Contains(r.Error, `condition body == 'bad' does not hold (body = "fine")`) || r.value.Status != 200 {
		t.Errorf("%+v", r)
	}
	if r := ask(t, belfry.HTTP{URL: s.URL}, func(task *belfry.Task) { task.Warnings = []string{"status == 1"} }); r.Outcome != belfry.OutcomeOK {
		t.Errorf("%+v", r)
	}
}

// A check that the worker ended has seen nothing; one whose time was over has.
func TestACheckThatIsCutShort(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 10)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	for _, task := range []belfry.Task{get(s.URL), {WebSocket: &belfry.WebSocket{URL: strings.Replace(s.URL, "http", "ws", 1)}}} {
		for _, cause := range []error{worker.ErrShutdown, worker.ErrLost, worker.ErrCanceled, worker.ErrTimeout} {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-arrived; cancel(cause) }()
			f := ex.Execute(ctx, run(task, belfry.TriggerCheck))
			if errors.Is(cause, worker.ErrTimeout) {
				if f.Outcome != belfry.OutcomeOK || f.Check.Outcome != belfry.CheckFail || f.Check.Code != belfry.CodeFirstByte && f.Check.Code != belfry.CodeWrite {
					t.Errorf("%v: %+v %+v", cause, f, f.Check)
				}
			} else if f.Outcome != belfry.OutcomeError || f.Check != nil || f.Error != cause.Error() {
				t.Errorf("%v: %+v", cause, f)
			}
			cancel(nil)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	wants(t, ex.Measure(ctx, get(s.URL)), belfry.CheckError, belfry.CodeLost, "cut short")
}

func TestAKindThatIsNoNetworkCheck(t *testing.T) {
	t.Parallel()
	wants(t, look(t, belfry.Task{Command: &belfry.Command{Argv: []string{"true"}}}), belfry.CheckError, belfry.CodeUnsupported, "command")
}

func TestWithoutADeadlineTheTasksTimeoutHolds(t *testing.T) {
	t.Parallel()
	task := belfry.Task{TCP: &belfry.TCP{Address: raw(t, hold), Expect: "x"}, Timeout: belfry.Duration(50 * time.Millisecond)}
	if m := look(t, task); m.Outcome != belfry.CheckFail {
		t.Errorf("%+v", m)
	}
}

func TestVet(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good := belfry.Task{HTTP: &belfry.HTTP{URL: "https://example.com", CA: ca.pem}, Conditions: []string{"status == 200"}, Warnings: []string{"latency < 500ms"}}
	if err := probe.Vet(good); err != nil {
		t.Error(err)
	}
	for want, task := range map[string]belfry.Task{
		`conditions[0] "status = 200"`:           {HTTP: &belfry.HTTP{}, Conditions: []string{"status = 200"}},
		`warnings[1] "loss > 5": unknown name`:   {HTTP: &belfry.HTTP{}, Warnings: []string{"status > 1", "loss > 5"}},
		"http.ca: has no certificate in PEM":     {HTTP: &belfry.HTTP{CA: "x"}},
		"http.auth.cert: and key cannot be read": {HTTP: &belfry.HTTP{Auth: &belfry.HTTPAuth{Cert: "x", Key: "y"}}},
		"http.server_name: cannot stand beside":  {HTTP: &belfry.HTTP{Proxy: "https://p", ServerName: "x"}},
		"tls.ca: has no certificate in PEM":      {TLS: &belfry.TLS{CA: "x"}},
		"grpc.ca: has no certificate in PEM":     {GRPC: &belfry.GRPC{CA: "x"}},
		"dns.name: dns.name:":                    {DNS: &belfry.DNS{Name: "a..b"}},
	} {
		err := probe.Vet(task)
		if belfry.CodeOf(err) != belfry.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
