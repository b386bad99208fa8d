package seal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/belfry-run/belfry/core"
)

// File is a key file that is read when it is first needed, and again when
// something was sealed with a key that it did not hold then: another node may
// have changed it.
type File struct {
	// Path of the file. Empty: nothing can be sealed, and the error says so.
	Path string
	// Own says that the file is Belfry's: it is made when something is first
	// sealed, and [File.Rotate] changes it.
	Own bool

	mu   sync.Mutex
	keys Keys
}

// Seal is [Keys.Seal].
func (f *File) Seal(purpose string, plain []byte) (key, sealed string, err error) {
	k, err := f.load(false, f.Own)
	if err != nil {
		return "", "", err
	}
	return k.Seal(purpose, plain)
}

// Open is [Keys.Open].
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

// Rotate makes what is sealed from now on be sealed with another key: a new one
// in a file of Belfry's own, or what its operator has put first. Keys from
// before still open.
func (f *File) Rotate() (key string, err error) {
	if f.Own {
		if err := f.add(); err != nil {
			return "", err
		}
	}
	k, err := f.load(true, f.Own)
	return k.Name(), err
}

// Forget removes the keys but the first from a file of Belfry's own, once
// nothing is sealed with them any more.
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

// add puts a new key first.
func (f *File) add() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := os.ReadFile(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(f.Path, err)
	}
	return f.writeLocked(Generate() + string(text))
}

// writeLocked replaces the file in one step, so that no reader sees half of it.
func (f *File) writeLocked(text string) error {
	keys, err := Parse(text)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.Path), filepath.Base(f.Path)+".*") // 0600
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

// Check says what is wrong with the file of an operator. One of Belfry's own
// need not be there yet.
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

// HasKey reports whether anything names a file for the key. The key itself may
// not be there yet.
func (f *File) HasKey() bool { return f.Path != "" }

// load reads the file. Two that make it at once agree on the one that is there
// first: the other would seal with a key that is gone.
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

// makeFile writes apart and links: the name appears with its whole content or
// was there before.
func makeFile(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // the link stays
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
