package seal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/belfry-run/belfry/core"
)

// File is a key file. It is read when it is first needed, and again if a text is
// sealed with an unknown key, because another node may have changed the file.
type File struct {
	// Path is the path of the file. If it is empty, nothing can be sealed, and the
	// error says so.
	Path string
	// Own means that Belfry manages the file: it is created with the first sealing,
	// and [File.Rotate] changes it.
	Own bool

	mu   sync.Mutex
	keys Keys
}

// Seal is [Keys.Seal] with the keys of the file.
func (f *File) Seal(purpose string, plain []byte) (key, sealed string, err error) {
	k, err := f.load(false, f.Own)
	if err != nil {
		return "", "", err
	}
	return k.Seal(purpose, plain)
}

// Open is [Keys.Open] with the keys of the file.
func (f *File) Open(purpose, sealed string) ([]byte, error) {
	k, err := f.load(false, false)
	if err != nil {
		return nil, err
	}
	plain, err := k.Open(purpose, sealed)
	if errors.Is(err, errNoKey) {
		if k, err = f.load(true, false); err != nil {
			return nil, err
		}
		plain, err = k.Open(purpose, sealed)
	}
	return plain, err
}

// Rotate changes the key for sealing: to a new key in a file of Belfry, or to the
// key that the operator has put first. Earlier keys still open.
func (f *File) Rotate() (key string, err error) {
	if f.Own {
		if err := f.add(); err != nil {
			return "", err
		}
	}
	k, err := f.load(true, f.Own)
	return k.Name(), err
}

// Forget removes all keys but the first from a file of Belfry. Call it when nothing
// is still sealed with them.
func (f *File) Forget() error {
	if !f.Own {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return err
	}
	first := text
	for i, b := range text {
		if b == '\n' {
			first = text[:i+1]
			break
		}
	}
	return f.writeLocked(string(first))
}

// add inserts a new key as the first.
func (f *File) add() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := os.ReadFile(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(f.Path, err)
	}
	return f.writeLocked(Generate() + string(text))
}

// writeLocked replaces the file atomically, so that no reader sees a part of it.
func (f *File) writeLocked(text string) error {
	keys, err := Parse(text)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.Path), filepath.Base(f.Path)+".*") // mode 0600
	if err != nil {
		return unreadable(f.Path, err)
	}
	_, err = tmp.WriteString(text)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), f.Path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return unreadable(f.Path, err)
	}
	f.keys = keys
	return nil
}

// Check returns an error if the file of an operator is invalid. A file of Belfry
// need not exist yet.
func (f *File) Check() error {
	if f.Own || f.Path == "" {
		return nil
	}
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return core.InvalidField("seal_key_file", f.Path, "cannot be read: "+err.Error(), "openssl rand -hex 32 prints a key")
	}
	_, err = Parse(string(text))
	return err
}

// HasKey reports whether a key file is configured. The file may not exist yet.
func (f *File) HasKey() bool { return f.Path != "" }

// load reads the file. If two processes create it at the same time, both use the
// file of the first; otherwise the other would seal with a lost key.
func (f *File) load(again, create bool) (Keys, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys.first != "" && !again {
		return f.keys, nil
	}
	if f.Path == "" {
		return Keys{}, core.Errorf(core.Conflict, "there is no key to seal secrets with").
			WithHint("write one with openssl rand -hex 32 > belfry.key, give it to every node as seal_key_file, and keep a copy apart from the database")
	}
	text, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := makeFile(f.Path); err != nil {
			return Keys{}, unreadable(f.Path, err)
		}
		text, err = os.ReadFile(f.Path)
	}
	if err != nil {
		return Keys{}, unreadable(f.Path, err)
	}
	keys, err := Parse(string(text))
	if err == nil {
		f.keys = keys
	}
	return keys, err
}

// makeFile writes a temporary file and links it, so that the name appears with its
// whole content or existed before.
func makeFile(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // the link under path remains
	_, err = tmp.WriteString(Generate())
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func unreadable(path string, err error) error {
	return &core.Error{
		Code: core.Unavailable, Message: "the key that secrets are sealed with cannot be used: " + path, Err: err,
		Hint: "see that the file of seal_key_file is there and that the node may read it; without the key, secrets must be set anew",
	}
}
