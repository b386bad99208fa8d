package sandbox_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// program is a small ELF file.
func program(machine elf.Machine, kind elf.Type, entry uint64, loader string) []byte {
	var b bytes.Buffer
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(kind), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Entry: entry,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
		Shoff: 1 << 60, Shnum: 9999, // a table that is not there, as of a program that was stripped badly
	}
	segments := []elf.Prog64{{Type: uint32(elf.PT_LOAD)}}
	if loader != "" {
		h.Phnum = 2
		segments = append(segments, elf.Prog64{Type: uint32(elf.PT_INTERP), Off: 64 + 2*56, Filesz: uint64(len(loader) + 1)})
	}
	_ = binary.Write(&b, binary.LittleEndian, h)
	_ = binary.Write(&b, binary.LittleEndian, segments)
	b.WriteString(loader + "\x00")
	return b.Bytes()
}

func TestInspectRecognizesPrograms(t *testing.T) {
	t.Parallel()
	const glibc = "/lib64/ld-linux-x86-64.so.2"
	good := program(elf.EM_X86_64, elf.ET_DYN, 0x1000, glibc)
	for name, c := range map[string]struct {
		bytes []byte
		want  sandbox.Program
		says  string
	}{
		"dynamic":             {bytes: good, want: sandbox.Program{Arch: "amd64", Loader: glibc}},
		"static":              {bytes: program(elf.EM_AARCH64, elf.ET_EXEC, 0x1000, ""), want: sandbox.Program{Arch: "arm64"}},
		"a strange processor": {bytes: program(elf.EM_SPARCV9, elf.ET_EXEC, 0x1000, ""), want: sandbox.Program{Arch: "sparcv9"}},
		"a library":           {bytes: program(elf.EM_X86_64, elf.ET_DYN, 0, ""), says: "a library"},
		"an object file":      {bytes: program(elf.EM_X86_64, elf.ET_REL, 0, ""), says: "not linked"},
		"a core":              {bytes: program(elf.EM_X86_64, elf.ET_CORE, 0, ""), says: "crashed"},
		"half a header":       {bytes: good[:40], says: "damaged"},
		"half a table":        {bytes: good[:100], says: "damaged"},
		"half a loader":       {bytes: good[:len(good)-5], says: "cut off"},
		"nothing":             {says: "empty"},
		"a script":            {bytes: []byte("#! /bin/sh -e\necho\n"), want: sandbox.Program{Loader: "/bin/sh"}},
		"a script of Windows": {bytes: []byte("#!/bin/sh\r\necho\r\n"), says: "Windows"},
		"a script of nobody":  {bytes: []byte("#!\n"), says: "no interpreter"},
		"a relative one":      {bytes: []byte("#!python\n"), says: "no absolute path"},
		"an endless one":      {bytes: []byte("#!/" + strings.Repeat("x", 9999)), says: "too long"},
		"Windows":             {bytes: []byte("MZ\x90"), says: "GOOS=linux"},
		"macOS":               {bytes: []byte("\xcf\xfa\xed\xfe"), says: "GOOS=linux"},
		"an archive":          {bytes: []byte("PK\x03\x04"), says: "zip"},
		"a page":              {bytes: []byte("<!DOCTYPE html>"), says: "download"},
		"text":                {bytes: []byte("hello\n"), says: "neither"},
	} {
		got, err := sandbox.Inspect(bytes.NewReader(c.bytes))
		var unfit *sandbox.Unfit
		switch {
		case c.says == "" && (err != nil || got != c.want):
			t.Errorf("%s: %+v %v", name, got, err)
		case c.says != "" && (!errors.As(err, &unfit) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlatformsOfAProgram(t *testing.T) {
	t.Parallel()
	nothing := func(string) bool { return false }
	for says, p := range map[string]sandbox.Program{
		"":                               {Arch: runtime.GOARCH},
		"it is built for z80":            {Arch: "z80"},
		"it needs the loader /lib/ld":    {Arch: runtime.GOARCH, Loader: "/lib/ld"},
		"its interpreter /bin/sh is not": {Loader: "/bin/sh"},
	} {
		if err := p.Fits(nothing); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", p, err)
		}
		if err := p.Fits(func(string) bool { return true }); (err == nil) != (p.Arch != "z80") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestPreflightAcceptsThisProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := sandbox.Spec{Argv: []string{self}, ReadOnly: append(sandbox.System(), sandbox.Mount{Source: self})}
	if err := s.Preflight(); err != nil && runtime.GOOS == "linux" {
		t.Error(err)
	}
	s.Argv = []string{"/nowhere"}
	if err := s.Preflight(); err == nil || !strings.Contains(err.Error(), "not among the files") {
		t.Error(err)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(program(elf.EM_X86_64, elf.ET_DYN, 0x1000, "/lib64/ld-linux-x86-64.so.2"))
	f.Add([]byte("#!/bin/sh\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := sandbox.Inspect(bytes.NewReader(b))
		if err == nil && p == (sandbox.Program{}) {
			t.Error("it is something, and says nothing")
		}
	})
}
