package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// request is the call of one method of [Driver] in a process.
type request struct {
	Do   string          `json:"do"`
	With json.RawMessage `json:"with,omitempty"`
	For  time.Duration   `json:"for,omitempty"` // the time limit of the call; 0: no limit
}

// answer is a line of a process: one for each request, and one when it is ready.
type answer struct {
	Error string          `json:"error,omitempty"`
	Is    json.RawMessage `json:"is,omitempty"`
}

// Remote drives a queue in another process. The process reads requests from its
// standard input and answers each with a line. It ends when its input ends, so also
// when this process dies.
type Remote struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr bytes.Buffer // complete when the process has ended
	close  func() error
}

// StartRemote starts the process and waits until it is ready.
func StartRemote(cmd *exec.Cmd) (*Remote, error) {
	r := &Remote{cmd: cmd}
	r.close = sync.OnceValue(r.end)
	cmd.Stderr = &r.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.in, r.out = in, bufio.NewScanner(out)
	r.out.Buffer(nil, 1<<20)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := r.answer(nil); err != nil {
		_ = r.Close() // the first error is enough
		return nil, err
	}
	return r, nil
}

// PID returns the id of the process, to measure its CPU time.
func (r *Remote) PID() int { return r.cmd.Process.Pid }

func (r *Remote) answer(is any) error {
	if !r.out.Scan() {
		return r.ended(r.out.Err())
	}
	var a answer
	if err := json.Unmarshal(r.out.Bytes(), &a); err != nil {
		return fmt.Errorf("%s answered %q: %w", r.cmd.Path, r.out.Text(), err)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	if is == nil || len(a.Is) == 0 {
		return nil
	}
	return json.Unmarshal(a.Is, is)
}

func (r *Remote) ask(ctx context.Context, do string, with, is any) error {
	q := request{Do: do}
	if end, ok := ctx.Deadline(); ok {
		q.For = time.Until(end)
	}
	if with != nil {
		raw, err := json.Marshal(with)
		if err != nil {
			return err
		}
		q.With = raw
	}
	line, err := json.Marshal(q)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	defer context.AfterFunc(ctx, func() {
		select {
		case <-done: // the process has the same deadline, and answers by itself
		case <-time.After(5 * time.Second): // the process hangs
			_ = r.cmd.Process.Kill()
		}
	})()
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		return r.ended(err)
	}
	return r.answer(is)
}

// Insert implements [Driver].
func (r *Remote) Insert(ctx context.Context, in Insert) (out Inserted, err error) {
	return out, r.ask(ctx, "insert", in, &out)
}

// BurnDown implements [Driver].
func (r *Remote) BurnDown(ctx context.Context) (out Burnt, err error) {
	return out, r.ask(ctx, "burn-down", nil, &out)
}

// EndToEnd implements [Driver].
func (r *Remote) EndToEnd(ctx context.Context, in Insert) (out Inserted, err error) {
	return out, r.ask(ctx, "end-to-end", in, &out)
}

// Offer implements [Driver].
func (r *Remote) Offer(ctx context.Context, o Offer) (out Offered, err error) {
	return out, r.ask(ctx, "offer", o, &out)
}

// Start implements [Driver].
func (r *Remote) Start(ctx context.Context) error { return r.ask(ctx, "start", nil, nil) }

// Stop implements [Driver].
func (r *Remote) Stop(ctx context.Context) error { return r.ask(ctx, "stop", nil, nil) }

// ended returns the error of a process that ended too early, with its last output.
func (r *Remote) ended(err error) error {
	return fmt.Errorf("%s ended by itself: %w", r.cmd.Path, errors.Join(err, r.Close()))
}

// Close implements [Driver].
func (r *Remote) Close() error { return r.close() }

func (r *Remote) end() error {
	kill := time.AfterFunc(20*time.Second, func() { _ = r.cmd.Process.Kill() })
	defer kill.Stop()
	_ = r.in.Close() // makes the process end
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, r.stderr.String())
	}
	return nil
}
