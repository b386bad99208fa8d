package sandbox

import (
	"io"
	"os"
	"os/exec"
)

// input is the standard input of a program whose setup may fail and be repeated. Nothing of it is read before the setup has
// succeeded, so that the next setup finds all of it.
type input struct {
	from  io.Reader
	ready chan struct{} // closed when from may be read, or is dropped
}

// holdInput holds the input of a command. A file needs no hold: the program reads it, and no goroutine of the worker.
func holdInput(cmd *exec.Cmd) *input {
	i := &input{from: cmd.Stdin, ready: make(chan struct{})}
	if _, file := cmd.Stdin.(*os.File); cmd.Stdin != nil && !file {
		cmd.Stdin = i
	}
	return i
}

func (i *input) Read(p []byte) (int, error) {
	<-i.ready
	if i.from == nil {
		return 0, io.EOF
	}
	return i.from.Read(p)
}

// pass lets the command read the input.
func (i *input) pass() { close(i.ready) }

// drop gives the command an empty input.
func (i *input) drop() {
	i.from = nil
	close(i.ready)
}
