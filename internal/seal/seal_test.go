package seal

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/core"
)

func open(t *testing.T, k interface {
	Open(purpose, sealed string) ([]byte, error)
}, purpose, sealed, want string) {
	t.Helper()
	plain, err := k.Open(purpose, sealed)
	if err != nil || string(plain) != want {
		t.Fatalf("%q %v, want %q", plain, err, want)
	}
}

func sealed(t *testing.T, k interface {
	Seal(purpose string, plain []byte) (string, string, error)
}, purpose, plain string) (key, text string) {
	t.Helper()
	key, text, err := k.Seal(purpose, []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return key, text
}

func TestSealedTextsOpenForTheirPurposeAlone(t *testing.T) {
	t.Parallel()
	k, err := Parse(Generate())
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []string{"", "hunter2", strings.Repeat("x", 100_000), "\x00\xff"} {
		key, text := sealed(t, k, "secret/default/a", plain)
		open(t, k, "secret/default/a", text, plain)
		if key != k.Name() || plain != "" && strings.Contains(text, plain) {
			t.Fatalf("%s: %s", key, text)
		}
		if _, again := sealed(t, k, "secret/default/a", plain); again == text {
			t.Fatal("the same twice")
		}
		for _, purpose := range []string{"secret/default/b", "secret/default/", "", "secret/other/a"} {
			if plain, err := k.Open(purpose, text); err == nil {
				t.Fatalf("opened for %q: %q", purpose, plain)
			}
		}
		for i := range min(len(text), 60) {
			bent := []byte(text)
			bent[i] ^= 1
			if _, err := k.Open("secret/default/a", string(bent)); err == nil {
				t.Fatalf("opened with byte %d changed", i)
			}
		}
	}
}

func TestAKeyFileThatIsWrongIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# none\n", "hunter2", strings.Repeat("ab", 31), strings.Repeat("zz", 32), Generate() + "hunter2"} {
		_, err := Parse(text)
		if core.CodeOf(err) != core.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheFileOfAnOperatorIsLookedAt(t *testing.T) {
	t.Parallel()
	at := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		file *File
		good bool
	}{
		"a key":             {&File{Path: at("key", Generate())}, true},
		"no key":            {&File{Path: at("key", "hunter2")}, false},
		"no file":           {&File{Path: filepath.Join(t.TempDir(), "none")}, false},
		"a folder":          {&File{Path: t.TempDir()}, false},
		"ours, to be made":  {&File{Path: filepath.Join(t.TempDir(), "none"), Own: true}, true},
		"none is asked for": {&File{}, true},
	} {
		err := c.file.Check()
		if c.good != (err == nil) || !c.good && (core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "seal_key_file")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFileIsMadeOnceByWhoeverNeedsItFirst(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.key")
	var all sync.WaitGroup
	texts := make([]string, 8)
	for i := range texts {
		all.Go(func() {
			f := &File{Path: path, Own: true}
			_, texts[i] = sealed(t, f, "p", "x")
		})
	}
	all.Wait()
	last := &File{Path: path}
	for _, text := range texts {
		open(t, last, "p", text, "x")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Fatalf("%v %v", left, err)
	}
}

func TestAKeyIsChangedWithoutAMomentInWhichNothingOpens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.key")
	ours, other := &File{Path: path, Own: true}, &File{Path: path}
	before, old := sealed(t, ours, "p", "x")
	open(t, other, "p", old, "x")
	after, err := ours.Rotate()
	if err != nil || after == before {
		t.Fatalf("%s %s %v", before, after, err)
	}
	key, fresh := sealed(t, ours, "p", "y")
	if key != after {
		t.Fatal("sealed with the old key")
	}
	open(t, other, "p", fresh, "y") // which reads the file again
	open(t, other, "p", old, "x")
	if err := ours.Forget(); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Open("p", old); core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), before) {
		t.Fatalf("%v", err)
	}
	open(t, ours, "p", fresh, "y")
}

func TestWithoutAKeyTheErrorSaysTheWayOut(t *testing.T) {
	t.Parallel()
	for _, f := range []*File{{}, {Path: filepath.Join(t.TempDir(), "none")}} {
		_, _, err := f.Seal("p", []byte("hunter2"))
		if err == nil || !strings.Contains(err.Error(), "seal_key_file") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}
