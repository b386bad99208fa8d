package sandbox

import (
	"fmt"
	"os"
)

// pipes between the worker and the init.
type pipes struct {
	control, report, faults   *os.File // ours
	controlR, reportW, faultW *os.File
}

func newPipes() (p pipes, err error) {
	for _, pair := range []struct{ r, w **os.File }{{&p.controlR, &p.control}, {&p.report, &p.reportW}, {&p.faults, &p.faultW}} {
		if *pair.r, *pair.w, err = os.Pipe(); err != nil {
			p.closeOurs()
			p.closeTheirs()
			return p, fmt.Errorf("sandbox: %w", err)
		}
	}
	return p, nil
}

// theirs returns the init's ends, in the order of initControl, initReport and initFaults.
func (p pipes) theirs() []*os.File { return []*os.File{p.controlR, p.reportW, p.faultW} }
func (p pipes) closeTheirs()       { closeAll(p.theirs()) }
func (p pipes) closeOurs()         { closeAll([]*os.File{p.control, p.report, p.faults}) }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
