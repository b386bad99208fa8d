//go:build linux

package node

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// childEnv makes this program run as a node, and has the settings of the node.
const childEnv = "BELFRY_BENCH_NODE"

// child is a whole node of package app with the handler [Nothing], in a process of its own. All settings but the database
// and the slots have their defaults.
type child struct {
	Database  string
	TokenFile string
	Slots     int
}

// started is the node's record of a job: its nominal time, the time of the transaction that made it, and the start of its
// handler. The first record is all zero and means that the node is ready.
type started struct{ Nominal, Made, Began int64 }

// ToMade and ToStart return the time from the nominal time of a job to its creation and to its start.
func (r started) ToMade() time.Duration  { return time.Duration(r.Made - r.Nominal) }
func (r started) ToStart() time.Duration { return time.Duration(r.Began - r.Nominal) }

// Child runs the node and never returns, if this process was started as a node. Call it first in main and in TestMain.
func Child() {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	var c child
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		err = c.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run serves until standard input ends.
func (c child) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	out := &teller{more: make(chan struct{}, 1)}
	var h worker.Handlers
	worker.Handle(&h, database.Noop, func(ctx context.Context, _ struct{}) (struct{}, error) {
		now := time.Now()
		j, _ := worker.JobFrom(ctx)
		out.tell(started{j.Nominal.UnixNano(), j.CreatedAt.UnixNano(), now.UnixNano()})
		return struct{}{}, nil
	})
	o := app.Options{
		Config: config.Config{
			Database: c.Database, Listen: "127.0.0.1:0", TokenFile: c.TokenFile,
			RetentionAge: core.Duration(database.KeepAll.Age), RetentionJobs: database.KeepAll.Jobs,
		},
		Handlers: &h, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if c.Slots > 0 {
		o.Queues = map[string]int{task.DefaultQueue: c.Slots}
	}
	node, err := app.New(o)
	if err != nil {
		return err
	}
	if err := node.Start(ctx); err != nil {
		return err
	}
	told := make(chan error, 1)
	go func() { told <- out.run(ctx) }()
	out.tell(started{})
	err = node.Wait(ctx)
	cancel()
	return errors.Join(err, <-told)
}

// teller writes records to standard output, outside the handlers.
type teller struct {
	mu   sync.Mutex
	kept []started
	more chan struct{}
}

func (t *teller) tell(r started) {
	t.mu.Lock()
	t.kept = append(t.kept, r)
	t.mu.Unlock()
	select {
	case t.more <- struct{}{}:
	default:
	}
}

func (t *teller) run(ctx context.Context) error {
	for {
		select {
		case <-t.more:
		case <-ctx.Done():
			return nil
		}
		process.Pause(ctx, 20*time.Millisecond) // collects many records for one write, which disturbs the node less
		t.mu.Lock()
		kept := t.kept
		t.kept = nil
		t.mu.Unlock()
		if err := binary.Write(os.Stdout, binary.LittleEndian, kept); err != nil {
			return err
		}
	}
}

// Offspring is the parent's handle of such a node.
type Offspring struct {
	*process.Process
	stdin io.WriteCloser
}

// Spawn starts a node on this database and waits until it is ready.
func Spawn(s *database.Site, slots int) (*Offspring, error) {
	what, err := json.Marshal(child{s.URL, s.Folder + "/token", slots})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Dir = s.Folder
	cmd.Env = append(os.Environ(), childEnv+"="+string(what))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p, err := process.Launch(cmd)
	if err != nil {
		return nil, err
	}
	o := &Offspring{p, stdin}
	if _, err := o.Next(); err != nil {
		o.Kill()
		return nil, p.Trouble(fmt.Errorf("the node did not get ready: %w", err))
	}
	return o, nil
}

// Next reads the next record of the node.
func (o *Offspring) Next() (r started, err error) {
	return r, binary.Read(o.Stdout, binary.LittleEndian, &r)
}

// Stop ends the node in order.
func (o *Offspring) Stop() error {
	err := o.stdin.Close()
	select {
	case <-o.Done:
	case <-time.After(40 * time.Second): // longer than the node's grace
		o.Kill()
		return o.Trouble(errors.New("the node did not stop"))
	}
	if !o.Cmd.ProcessState.Success() {
		return o.Trouble(fmt.Errorf("the node ended with %s", o.Cmd.ProcessState))
	}
	return err
}
