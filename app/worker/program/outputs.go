package program

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Uploader stores an output file of an attempt.
type Uploader interface {
	Upload(ctx context.Context, a Attempt, o task.Output, content io.Reader) error
}

// Attempt identifies the attempt of an output.
type Attempt struct {
	job.Ref
	Session   string
	Namespace string
}

// Declarer announces an output, and returns a link for the upload of exactly
// these bytes, or none if they are already stored. It refuses an attempt that has
// lost its lease. A store and the clients implement it.
type Declarer interface {
	DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error)
}

// Keeper stores bytes if the worker can reach the artifacts directly. Their name
// is namespace/digest.
type Keeper interface {
	Put(ctx context.Context, name string, size int64, content io.Reader) error
}

// Declared returns an uploader that announces each output, and sends it to the link, or to keeper if there is one. A link
// without a host is relative to server. roots are the trusted authorities; nil: those of the system.
func Declared(d Declarer, server string, roots *x509.CertPool, keeper Keeper) Uploader {
	client := signed.Client(signed.Transport(roots))
	client.Timeout = job.SendTime
	return &declared{declarer: d, server: server, keeper: keeper, client: client}
}

type declared struct {
	declarer Declarer
	server   string
	keeper   Keeper
	client   *http.Client
}

func (d *declared) Upload(ctx context.Context, a Attempt, o task.Output, content io.Reader) error {
	given, err := d.declarer.DeclareOutput(ctx, a.Session, a.Ref, o)
	switch {
	case err != nil || given == nil:
		return err
	case d.keeper != nil:
		return d.keeper.Put(ctx, a.Namespace+"/"+o.SHA256, o.Size, content)
	}
	link, err := signed.At(d.server, *given)
	if err != nil {
		return err
	}
	return signed.Send(ctx, d.client, link, content)
}

// takeOutputs reads the output files, sends them, and records them. A refused
// file is reported, but does not change the result of the program: another run
// would repeat its effects. If the time was too short to send a file, the file is
// lost, and the attempt is not a success.
func (n *running) takeOutputs(ctx context.Context, fin *job.Finish) {
	ctx, cancel := n.Overtime(ctx, job.SendTime) // before the files are read, which may take longer than the remaining time
	defer cancel()
	into, note := fin.Sandboxed, n.capture.note
	missing := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		into.Missing = append(into.Missing, "outputs: "+text)
		note("output: %s", text)
	}
	outs, left, err := n.listOutputs()
	if err != nil {
		missing("the output folder cannot be read: %v", err)
		return
	}
	for _, s := range left.Skipped[:min(len(left.Skipped), maxNamedSkips)] {
		note("output %q is not kept: %s", s.Name, s.Reason)
	}
	if more := len(left.Skipped) - maxNamedSkips; more > 0 {
		note("%d more outputs are not kept", more)
	}
	if left.Truncated {
		missing("there is more than the task keeps (limits.outputs, limits.output_size)")
	}
	switch {
	case len(outs) == 0:
		return
	case n.executor.options.Uploader == nil:
		missing("%d files are not kept, because this worker has nowhere to send them", len(outs))
		return
	}
	if ctx.Err() != nil {
		missing("%d files are not kept, because the attempt was ended: %v", len(outs), context.Cause(ctx))
		lose(fin)
		return
	}
	into.Outputs, err = sending{
		outs: outs,
		walk: func(take func(string, int64, io.Reader) error) error {
			_, err := scratch.Outputs(n.folder.output(), n.outputLimits(), take)
			return err
		},
		upload: func(ctx context.Context, o task.Output, content io.Reader) error {
			return n.executor.options.Uploader.Upload(ctx, Attempt{n.Ref(), n.Session, n.Job.Namespace}, o, content)
		},
		waits: func(err error) { note("output: %v; trying again for %s at most", err, core.Duration(job.SendTime)) },
	}.send(ctx)
	if err != nil {
		missing("%d of %d files are not kept: %v", len(outs)-len(into.Outputs), len(outs), err)
	}
	if late := (unsent{}); errors.As(err, &late) {
		n.unsent(fin)
	}
}

// unsent sets the result of an attempt whose files could not be sent in time. This is a fault of the machine. As after the
// loss of a worker, the task's on_lost decides whether the program may run again.
func (n *running) unsent(fin *job.Finish) {
	if lose(fin) {
		fin.Infra, fin.NoRetry = true, n.Task.Retry.OnLost == task.OnLostFail
	}
}

// lose turns a success into an error, because files are lost. If the attempt was ended, the worker sets the reason.
func lose(fin *job.Finish) bool {
	if fin.Outcome != job.OutcomeOK {
		return false
	}
	missing := fin.Sandboxed.Missing
	fin.Outcome, fin.Error = job.OutcomeError, missing[len(missing)-1]
	return true
}

// maxNamedSkips limits the files that are reported by name, because a program chooses their number.
const maxNamedSkips = 20

func (n *running) outputLimits() scratch.OutputLimits {
	l := n.Task.Program.Limits
	return scratch.OutputLimits{Entries: maxEntries(l), Bytes: max(l.OutputSize, 1)}
}

// listOutputs reads each file once, for its digest.
func (n *running) listOutputs() (outs []task.Output, left scratch.Left, err error) {
	most := n.Task.Program.Limits.Outputs
	over := 0
	left, err = scratch.Outputs(n.folder.output(), n.outputLimits(), func(name string, size int64, content io.Reader) error {
		if len(outs) >= most {
			over++
			return nil
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		outs = append(outs, task.Output{Name: name, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))})
		return nil
	})
	left.Truncated = left.Truncated || over > 0
	return outs, left, err
}
