package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/task"
)

// executable is a program file on this machine to upload.
type executable struct {
	file   *os.File
	path   string
	digest string
	size   int64
	arch   string
}

func (b *executable) close() { _ = b.file.Close() } // only read

// executableOf inspects a program, so that a file that cannot run is refused before the
// upload with a reason, instead of by the kernel of a worker.
func executableOf(c *cli.CLI, path string) (*executable, error) {
	info, err := os.Stat(path) // before the open, which would wait for the writer of a pipe and ignore signals
	if err == nil && !info.Mode().IsRegular() {
		return nil, core.InvalidField("FILE", path, "is no file", "name the program itself")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, core.InvalidField("FILE", path, "cannot be read: "+errors.Unwrap(err).Error(), "")
	}
	b := &executable{file: file, path: path}
	if err := look(c, b); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func look(c *cli.CLI, b *executable) error {
	info, err := b.file.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() > task.MaxArtifact:
		return core.InvalidField("FILE", b.path, "has "+core.SizeText(info.Size()), "at most "+core.SizeText(task.MaxArtifact)+"; strip it, or let it fetch its data")
	}
	p, err := sandbox.Inspect(b.file)
	var unfit *sandbox.Unfit
	switch {
	case errors.As(err, &unfit):
		return core.InvalidField("FILE", b.path, "is not a program for Linux: "+unfit.Reason, "")
	case err != nil:
		return core.InvalidField("FILE", b.path, "cannot be read: "+err.Error(), "")
	case p.Arch == "":
		return core.InvalidField("FILE", b.path, "is a script for "+p.Loader+", and programs are compiled",
			"run it as a task of kind command: belfry task create NAME --shell …")
	case p.Loader != "":
		fmt.Fprintf(c.Stderr, "note: %s is linked dynamically; it runs only where %s and its libraries are\ntry: link it statically (Go: CGO_ENABLED=0; C: -static; Rust: a musl target)\n", b.path, p.Loader)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.NewSectionReader(b.file, 0, info.Size()))
	if err == nil && n != info.Size() {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return core.InvalidField("FILE", b.path, "cannot be read: "+err.Error(), "")
	}
	b.arch, b.size, b.digest = p.Arch, info.Size(), hex.EncodeToString(sum.Sum(nil))
	return nil
}

// uploadTries is how often a broken upload is started.
const uploadTries = 3

// upload uploads the bytes of a program, unless they are already stored.
func upload(ctx context.Context, c *cli.CLI, s *cli.Conn, ns string, b *executable) error {
	up, err := s.CreateArtifact(ctx, task.Artifact{Namespace: ns, SHA256: b.digest, Size: b.size})
	if err != nil {
		return err
	}
	if up.Link == nil && !up.Artifact.PostedAt.IsZero() {
		fmt.Fprintf(c.Stderr, "%s is uploaded already\n", b.path)
		return nil
	}
	for try := 1; up.Link != nil; try++ {
		sent := send(ctx, c, s, ns, *up.Link, b)
		if sent == nil {
			break
		}
		// A store that already has the bytes may close the connection before the client reads the answer.
		if _, err := s.ConfirmArtifact(ctx, ns, b.digest); err == nil {
			return nil
		}
		if try == uploadTries || ctx.Err() != nil || core.CodeOf(sent) != core.Unavailable {
			return sent
		}
		fmt.Fprintf(c.Stderr, "the upload broke, trying again: %v\n", sent)
		if up, err = s.ArtifactUpload(ctx, ns, b.digest); err != nil {
			return err
		}
	}
	_, err = s.ConfirmArtifact(ctx, ns, b.digest)
	return err
}

// send uploads to one link, and shows the progress.
func send(ctx context.Context, c *cli.CLI, s *cli.Conn, ns string, link task.SignedRequest, b *executable) error {
	body := io.Reader(io.NewSectionReader(b.file, 0, b.size))
	if cli.IsTerminal(c.Stderr) {
		bar := progressbar.NewOptions64(b.size, progressbar.OptionSetWriter(c.Bars), progressbar.OptionSetDescription("uploading "+b.path),
			progressbar.OptionShowBytes(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true))
		defer bar.Exit() //nolint:errcheck // a drawing
		read := progressbar.NewReader(body, bar)
		body = &read
	} else {
		fmt.Fprintf(c.Stderr, "uploading %s: %s\n", b.path, core.SizeText(b.size))
	}
	if s.Blobs != nil { // without a server, there are no links
		return s.Blobs.Put(ctx, ns+"/"+b.digest, b.size, body)
	}
	link, err := signed.At(s.Where, link)
	if err != nil {
		return err
	}
	client, err := s.StoreClient()
	if err != nil {
		return err
	}
	sending, cancel := context.WithTimeout(ctx, s.TransferTime(b.size))
	defer cancel()
	return cli.Stalled(ctx, sending, signed.Send(sending, client, link, body))
}
