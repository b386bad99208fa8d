package task

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// JobOutput is a stored output file of an attempt.
type JobOutput struct {
	Output
	JobID int64     `json:"job_id"`
	Lease int64     `json:"lease"`
	At    time.Time `json:"at" doc:"When it was announced"`
}

// Limits of the report of a worker about a program.
const (
	MaxOutputName   = 512 // bytes
	maxSandboxLines = 64
	maxSandboxLine  = 1 << 10
)

// Validate returns the problems of a file that an attempt announces as one error, or nil.
func (o Output) Validate() error {
	var p core.Problems
	checkOutput(&p, o)
	return p.Err("output")
}

func checkOutput(p *core.Problems, o Output) {
	local := o.Name != "" && len(o.Name) <= MaxOutputName && utf8.ValidString(o.Name) && !strings.ContainsRune(o.Name, '\\') &&
		strings.IndexFunc(o.Name, unicode.IsControl) < 0 && path.Clean(o.Name) == o.Name &&
		o.Name != "." && o.Name != ".." && !strings.HasPrefix(o.Name, "/") && !strings.HasPrefix(o.Name, "../")
	if !local {
		p.Add("name", o.Name, "is not the name of a file below a folder", fmt.Sprintf("a clean relative path of at most %d bytes", MaxOutputName))
	}
	if !IsDigest(o.SHA256) {
		p.Add("sha256", o.SHA256, "is not a SHA-256", "64 lower-case hexadecimal digits")
	}
	if o.Size < 0 || o.Size > MaxOutputSize {
		p.Addf("size", o.Size, "is outside 0 to %d bytes", int64(MaxOutputSize))
	}
}

func (s *Sandboxed) Validate() error {
	var p core.Problems
	if s == nil {
		return nil
	}
	p.AtMost("outputs", len(s.Outputs), MaxOutputs)
	for i, o := range s.Outputs {
		if i >= MaxOutputs {
			break
		}
		p.Nest(fmt.Sprintf("outputs[%d]", i), o.Validate())
	}
	for field, lines := range map[string][]string{"layers": s.Layers, "missing": s.Missing, "sha256": {s.SHA256}, "isolation": {string(s.Isolation)}, "network": {s.Network}} {
		p.AtMost(field, len(lines), maxSandboxLines)
		for _, line := range lines {
			if len(line) > maxSandboxLine {
				p.Addf(field, core.Plural(len(line), "byte"), "has an entry of more than %d bytes", maxSandboxLine)
				break
			}
		}
	}
	return p.Err("sandboxed")
}

// AddOutput returns an error if an attempt must not announce the file o. files and
// size are the number and size of other files that it has announced.
func (l Limits) AddOutput(o Output, files int, size int64) error {
	l = l.withDefaults()
	switch {
	case files+1 > l.Outputs:
		return core.Errorf(core.TooLarge, "the attempt leaves more than %d files", l.Outputs).WithHint("the task's program.limits.outputs says how many it may")
	case size+o.Size > l.OutputSize:
		return core.Errorf(core.TooLarge, "the attempt leaves more than %d bytes of files", l.OutputSize).WithHint("the task's program.limits.output_size says how many it may")
	}
	return nil
}
