package sandbox

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/core"
)

// Program describes a program by its first bytes.
type Program struct {
	// Arch is the architecture of the program, by Go's name, such as amd64.
	// Empty for a script.
	Arch string `json:"arch,omitempty"`
	// Loader is the program with which the kernel starts it: the dynamic linker,
	// or the interpreter of a script. Empty for a static program.
	Loader string `json:"loader,omitempty"`
}

// Unfit is the reason why Linux cannot start a file. The kernel's own errors are
// "no such file or directory", also for a missing loader, and "exec format error"
// for everything else.
type Unfit struct{ Reason string }

func (u *Unfit) Error() string { return "not a program that can run here: " + u.Reason }

func unfit(format string, args ...any) error { return &Unfit{fmt.Sprintf(format, args...)} }

// Inspect reads the format of a program for any machine. It starts nothing, and
// accepts any input: the error is an [*Unfit], or that of reading.
func Inspect(r io.ReaderAt) (Program, error) {
	head := make([]byte, 256) // the kernel reads as many bytes
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Program{}, err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return inspectELF(r)
	case bytes.HasPrefix(head, []byte("#!")):
		return inspectScript(head)
	}
	return Program{}, unfit("%s", somethingElse(head))
}

// Compiled returns the architecture of a compiled program. Another file is [core.Invalid].
func Compiled(r io.ReaderAt) (arch string, err error) {
	p, err := Inspect(r)
	var unfit *Unfit
	switch {
	case errors.As(err, &unfit):
		return "", core.Errorf(core.Invalid, "the file is not a program for Linux: %s", unfit.Reason)
	case err == nil && p.Arch == "":
		return "", core.Errorf(core.Invalid, "the file is a script for %s, and programs are compiled", p.Loader).WithHint("run it as a task of kind command")
	}
	return p.Arch, err
}

// somethingElse names file types that people upload by mistake.
func somethingElse(head []byte) string {
	if len(head) == 0 {
		return "it is empty"
	}
	for magic, what := range map[string]string{
		"MZ":               "it is built for Windows; build it for Linux (Go: GOOS=linux)",
		"\xcf\xfa\xed\xfe": "it is built for macOS; build it for Linux (Go: GOOS=linux)",
		"\xca\xfe\xba\xbe": "it is built for macOS or is a Java class; upload a program for Linux",
		"PK\x03\x04":       "it is a zip or jar archive; upload the program itself",
		"\x1f\x8b":         "it is compressed (gzip); upload the program itself",
		"\xfd7zXZ\x00":     "it is compressed (xz); upload the program itself",
		"\x28\xb5\x2f\xfd": "it is compressed (zstd); upload the program itself",
		"!<arch>\n":        "it is a library or a Debian package; upload the program itself",
		"\x00asm":          "it is WebAssembly; upload a program for Linux",
		"<":                "it is a page or XML, perhaps of a download that failed",
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return what
		}
	}
	return "it is neither an ELF program nor a script that starts with #!"
}

// arches are the names of architectures that Go supports; others have the name of ELF.
var arches = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm", elf.EM_S390: "s390x",
	elf.EM_PPC64: "ppc64", elf.EM_RISCV: "riscv64", elf.EM_LOONGARCH: "loong64", elf.EM_MIPS: "mips",
}

// longestLoader is the maximum length of a path of a loader.
const longestLoader = 4096

func inspectELF(r io.ReaderAt) (p Program, err error) {
	f, err := elf.NewFile(withoutSections{r})
	if err != nil {
		return p, unfit("its ELF header is damaged or cut off (%v)", err)
	}
	p.Arch = arches[f.Machine]
	switch {
	case p.Arch == "":
		p.Arch = strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_"))
	case p.Arch == "ppc64" && f.ByteOrder.String() == "LittleEndian":
		p.Arch = "ppc64le"
	}
	switch f.Type {
	case elf.ET_REL:
		return p, unfit("it is an object file that was not linked")
	case elf.ET_CORE:
		return p, unfit("it is the memory of a program that crashed")
	case elf.ET_EXEC, elf.ET_DYN:
	default:
		return p, unfit("it is no executable ELF file (%s)", f.Type)
	}
	loads := false
	for _, s := range f.Progs {
		switch {
		case s.Type == elf.PT_LOAD:
			loads = true
		case s.Type == elf.PT_INTERP && s.Filesz <= longestLoader:
			text, err := io.ReadAll(s.Open())
			if err != nil || len(text) != int(s.Filesz) {
				return p, unfit("it is cut off")
			}
			p.Loader = strings.TrimRight(string(text), "\x00")
		}
	}
	switch {
	case !loads:
		return p, unfit("it has no code")
	case f.Entry == 0 && p.Loader == "":
		return p, unfit("it is a library, not a program")
	}
	return p, nil
}

// withoutSections hides the table of sections, which may be large, and which the
// kernel does not read either.
type withoutSections struct{ io.ReaderAt }

func (w withoutSections) ReadAt(b []byte, at int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(b, at)
	class := make([]byte, 1)
	if _, e := w.ReaderAt.ReadAt(class, elf.EI_CLASS); e != nil {
		return n, err
	}
	// Offsets of e_shoff, e_shnum and e_shstrndx.
	fields := [][2]int64{{0x20, 0x24}, {0x30, 0x34}}
	if elf.Class(class[0]) == elf.ELFCLASS64 {
		fields = [][2]int64{{0x28, 0x30}, {0x3c, 0x40}}
	}
	for _, f := range fields {
		for i := max(f[0], at); i < min(f[1], at+int64(n)); i++ {
			b[i-at] = 0
		}
	}
	return n, err
}

func inspectScript(head []byte) (p Program, err error) {
	line, _, whole := bytes.Cut(head, []byte("\n"))
	if bytes.HasSuffix(line, []byte("\r")) {
		return p, unfit("its first line ends as lines do on Windows, so Linux looks for an interpreter with that in its name")
	}
	words := strings.Fields(string(line[2:]))
	switch {
	case len(words) == 0:
		return p, unfit("its first line names no interpreter")
	case !whole && len(words) == 1 && len(head) == cap(head):
		return p, unfit("its first line is too long")
	case !path.IsAbs(words[0]):
		return p, unfit("its first line names %q, which is no absolute path", words[0])
	}
	p.Loader = words[0]
	return p, nil
}

// Fits returns why a program cannot run on this machine, or nil. loads reports
// whether there is a program at a path.
func (p Program) Fits(loads func(loader string) bool) error {
	switch {
	case p.Arch != "" && p.Arch != runtime.GOARCH:
		return unfit("it is built for %s, and this machine is %s", p.Arch, runtime.GOARCH)
	case p.Loader == "" || loads(p.Loader):
		return nil
	case p.Arch == "":
		return unfit("its interpreter %s is not there", p.Loader)
	}
	return unfit("it needs the loader %s, which is not there; link it statically (Go: CGO_ENABLED=0; C: -static; Rust: a musl target)", p.Loader)
}

// Preflight returns why the program of a run cannot start, as far as that is
// known without a start: an [*Unfit], or nil. The program must be in ReadOnly or
// Writable.
func (s Spec) Preflight() error {
	s, err := s.withDefaults()
	if err != nil {
		return err
	}
	source, given := s.source(s.Argv[0])
	if !given {
		return unfit("%s is not among the files that it is given", s.Argv[0])
	}
	f, err := os.OpenFile(source, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would block
	if err != nil {
		return unfit("%s: %v", s.Argv[0], errors.Unwrap(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return unfit("%s is no file", s.Argv[0])
	case info.Mode()&0o111 == 0:
		return unfit("%s is not marked as executable", s.Argv[0])
	}
	p, err := Inspect(f)
	if err != nil {
		return err
	}
	return p.Fits(func(loader string) bool {
		source, given := s.source(loader)
		if !given {
			return false
		}
		_, err := os.Stat(source)
		return err == nil
	})
}

// source returns the path on this machine for a path of the program.
func (s Spec) source(name string) (string, bool) {
	for _, mounts := range [][]Mount{s.ReadOnly, s.Writable} {
		for _, m := range mounts {
			if isolation.Inside(name, m.Target) {
				return m.Source + strings.TrimPrefix(name, m.Target), true
			}
		}
	}
	return "", false
}
