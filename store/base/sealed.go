package base

import (
	"strings"

	"github.com/belfry-run/belfry/core"
)

// sealedMark is the prefix of a sealed secret in a document. No secret that a person types begins with it. Without a key, secrets
// are stored in documents as they are.
const sealedMark = "\x01sealed:"

// secretive is a definition that can map its secrets.
type secretive[T any] interface {
	MapSecrets(f func(path string, s core.Secret) core.Secret) T
}

// PurposeOf binds sealed secrets to their definition. The path of each secret is appended to it.
func PurposeOf(noun, namespace, name string) string { return noun + "/" + namespace + "/" + name + "/" }

// SealIn seals the secrets of a definition for its document.
func SealIn[T secretive[T]](s *Store, purpose string, v T) (T, error) {
	if !s.Seals() {
		return v, nil
	}
	var first error
	sealed := v.MapSecrets(func(path string, secret core.Secret) core.Secret {
		if secret == "" || first != nil {
			return secret
		}
		_, text, err := s.Opt.Sealer.Seal(purpose+path, []byte(secret))
		first = err
		return core.Secret(sealedMark + text)
	})
	return sealed, first
}

// OpenIn opens the secrets of a definition that was read. A secret that cannot be opened becomes [core.Redacted], which a save
// does not store in place of the secret. So the definition can be read, and the secret is kept while its key is missing.
func OpenIn[T secretive[T]](s *Store, purpose string, v T) (opened T, all bool) {
	all = true
	opened = v.MapSecrets(func(path string, secret core.Secret) core.Secret {
		text, sealed := strings.CutPrefix(string(secret), sealedMark)
		if !sealed {
			return secret
		}
		plain, err := s.Sealer().Open(purpose+path, text)
		if err != nil {
			all = false
			s.unopened.Do(func() {
				s.Opt.Logger.Warn("a secret cannot be opened, and is not used", "secret", purpose+path, "error", err)
			})
			return core.Redacted
		}
		return core.Secret(plain)
	})
	return opened, all
}

// ResealDoc returns a document with its secrets sealed under a key.
func ResealDoc[T secretive[T]](c *Change, key, purpose, doc string) (string, error) {
	var v T
	if err := ScanDoc(&v).Scan(doc); err != nil {
		return doc, err
	}
	var first error
	changed := false
	sealed := v.MapSecrets(func(path string, secret core.Secret) core.Secret {
		text, was := strings.CutPrefix(string(secret), sealedMark)
		if secret == "" || first != nil || was && sealedWith(text, key) {
			return secret
		}
		plain := []byte(secret)
		if was {
			if plain, first = c.s.Sealer().Open(purpose+path, text); first != nil {
				return secret
			}
		}
		fresh, err := c.SealWith(key, purpose+path, plain)
		first, changed = err, true
		return core.Secret(sealedMark + fresh)
	})
	if first != nil || !changed {
		return doc, first
	}
	return Text(sealed), nil
}

// sealedWith reports whether a sealed text was sealed under a key.
func sealedWith(sealed, key string) bool { return strings.Contains(sealed, "."+key+".") }

// Sealer seals small secrets, each for a purpose, under a key that is not in the database. Package internal/seal implements it;
// app plugs it in.
type Sealer interface {
	// Seal returns the name of the key and the sealed text.
	Seal(purpose string, plain []byte) (key, sealed string, err error)
	Open(purpose, sealed string) ([]byte, error)
	// Rotate makes a new key for sealing, and returns its name. Older keys still open secrets until Forget.
	Rotate() (key string, err error)
	Forget() error
}

// Sealer returns the sealer of secrets. Without one in the options, the returned sealer fails each call.
func (s *Store) Sealer() Sealer {
	if s.Opt.Sealer == nil {
		return noSealer{}
	}
	return s.Opt.Sealer
}

// noSealer is the sealer of a store without one.
type noSealer struct{}

var errNoSealer = core.Errorf(core.Conflict, "there is no key to seal secrets with").WithHint("set seal_key_file")

func (noSealer) Seal(string, []byte) (key, sealed string, err error) { return "", "", errNoSealer }

func (noSealer) Open(string, string) ([]byte, error) { return nil, errNoSealer }

func (noSealer) Rotate() (string, error) { return "", errNoSealer }

func (noSealer) Forget() error { return errNoSealer }

// ResealBatch bounds the secrets that one transaction seals again.
const ResealBatch = 500

// SealWith seals if the present key is key. Sealing under another key would make the next pass find the same secret again.
func (c *Change) SealWith(key, purpose string, plain []byte) (sealed string, err error) {
	now, sealed, err := c.s.Sealer().Seal(purpose, plain)
	if err == nil && now != key {
		err = core.Errorf(core.Conflict, "the key was changed meanwhile").WithHint("rotate again")
	}
	return sealed, err
}

// Seals reports whether there is a key to seal with. A sealer without a key may say so by HasKey.
func (s *Store) Seals() bool {
	if knows, can := s.Opt.Sealer.(interface{ HasKey() bool }); can {
		return knows.HasKey()
	}
	return s.Opt.Sealer != nil
}
