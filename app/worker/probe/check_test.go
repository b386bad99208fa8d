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

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
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
			all.Go(func() { ex.Check(ctx, get("https://"+address)) })
		}
	}
	return ex, stop, all.Wait
}

func run(task task.Task, trigger schedule.Trigger) *worker.Run {
	task.Name = "a"
	task = task.WithDefaults()
	return &worker.Run{Task: &task, Job: &job.Job{ID: 7, Kind: task.Kind, Trigger: trigger, Attempt: 1}, Lease: 3, Log: io.Discard}
}

func TestTheJobOfAFailingCheckSucceedsWithItsResult(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	for _, tk := range []task.Task{get(s.URL), {TCP: &task.TCP{Address: addressOf(s), Send: "x\r\n\r\n", Expect: "^220"}}, {GRPC: &task.GRPC{Address: addressOf(s), Plaintext: true}}} {
		r := run(tk, job.TriggerCheck)
		f := ex.Kinds()[r.Task.Kind].Execute(t.Context(), r)
		if f.Outcome != job.OutcomeOK || f.Error != "" || f.Check == nil || f.Check.Outcome != task.CheckFail || f.Ref != r.Ref() || f.Output != nil || f.Validate() != nil {
			t.Errorf("%s: %+v", r.Task.Kind, f)
		}
	}
}

func TestAJobOfAnyKindFailsWhenTheAnswerIsNotGood(t *testing.T) {
	t.Parallel()
	address := raw(t, func(c net.Conn) { _, _ = io.WriteString(c, "220 ready\r\n") })
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	for want, tk := range map[string]task.Task{
		"": {TCP: &task.TCP{Address: address, Expect: "^220"}},
		"expect: expected an answer that matches": {TCP: &task.TCP{Address: address, Expect: "^221"}},
		"blocked_policy: ":                        {TCP: &task.TCP{Address: "127.0.0.2:1"}},
	} {
		tk.Name = "a"
		var log bytes.Buffer
		f := worker.Direct(t.Context(), ex.Kinds(), tk, nil, io.Discard, &log)
		var m task.CheckResult
		if err := json.Unmarshal(f.Output, &m); err != nil || f.Check != nil || (f.Outcome == job.OutcomeOK) != (want == "") || !strings.HasPrefix(f.Error, want) {
			t.Errorf("%+v %v", f, err)
		}
		if f.NoRetry != (m.Outcome == task.CheckError) || m.Snapshot != nil || log.Len() == 0 {
			t.Errorf("%+v, log %s", f, log.String())
		}
	}
}

func TestConditionsHoldForJobsToo(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "fine") })
	conditions := func(task *task.Task) {
		task.Conditions, task.Warnings = []string{"body == 'bad'"}, []string{"status == 1"}
	}
	if r := ask(t, task.HTTP{URL: s.URL}, conditions); r.Outcome != job.OutcomeError || !strings.Contains(r.Error, `condition body == 'bad' does not hold (body = "fine")`) || r.value.Status != 200 {
		t.Errorf("%+v", r)
	}
	if r := ask(t, task.HTTP{URL: s.URL}, func(task *task.Task) { task.Warnings = []string{"status == 1"} }); r.Outcome != job.OutcomeOK {
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
	for _, tk := range []task.Task{get(s.URL), {WebSocket: &task.WebSocket{URL: strings.Replace(s.URL, "http", "ws", 1)}}} {
		for _, cause := range []error{worker.ErrShutdown, worker.ErrLost, worker.ErrCanceled, worker.ErrTimeout} {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-arrived; cancel(cause) }()
			f := ex.Execute(ctx, run(tk, job.TriggerCheck))
			if errors.Is(cause, worker.ErrTimeout) {
				if f.Outcome != job.OutcomeOK || f.Check.Outcome != task.CheckFail || f.Check.Code != task.CodeFirstByte && f.Check.Code != task.CodeWrite {
					t.Errorf("%v: %+v %+v", cause, f, f.Check)
				}
			} else if f.Outcome != job.OutcomeError || f.Check != nil || f.Error != cause.Error() {
				t.Errorf("%v: %+v", cause, f)
			}
			cancel(nil)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	wants(t, ex.Check(ctx, get(s.URL)), task.CheckError, task.CodeLost, "cut short")
}

func TestAKindThatIsNoNetworkCheck(t *testing.T) {
	t.Parallel()
	wants(t, look(t, task.Task{Command: &task.Command{Argv: []string{"true"}}}), task.CheckError, task.CodeUnsupported, "command")
}

func TestWithoutADeadlineTheTasksTimeoutHolds(t *testing.T) {
	t.Parallel()
	tk := task.Task{TCP: &task.TCP{Address: raw(t, hold), Expect: "x"}, Timeout: core.Duration(50 * time.Millisecond)}
	if m := look(t, tk); m.Outcome != task.CheckFail {
		t.Errorf("%+v", m)
	}
}

func TestVet(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good := task.Task{HTTP: &task.HTTP{URL: "https://example.com", CA: ca.pem}, Conditions: []string{"status == 200"}, Warnings: []string{"latency < 500ms"}}
	if err := probe.Vet(good); err != nil {
		t.Error(err)
	}
	for want, task := range map[string]task.Task{
		`conditions[0] "status = 200"`:           {HTTP: &task.HTTP{}, Conditions: []string{"status = 200"}},
		`warnings[1] "loss > 5": unknown name`:   {HTTP: &task.HTTP{}, Warnings: []string{"status > 1", "loss > 5"}},
		"http.ca: has no certificate in PEM":     {HTTP: &task.HTTP{CA: "x"}},
		"http.auth.cert: and key cannot be read": {HTTP: &task.HTTP{Auth: &task.HTTPAuth{Cert: "x", Key: "y"}}},
		"http.server_name: cannot stand beside":  {HTTP: &task.HTTP{Proxy: "https://p", ServerName: "x"}},
		"tls.ca: has no certificate in PEM":      {TLS: &task.TLS{CA: "x"}},
		"grpc.ca: has no certificate in PEM":     {GRPC: &task.GRPC{CA: "x"}},
		"dns.name: dns.name:":                    {DNS: &task.DNS{Name: "a..b"}},
	} {
		err := probe.Vet(task)
		if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
