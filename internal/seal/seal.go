// Package seal seals small secrets with AES-256-GCM under a key in a file outside
// of the database, so that a copy of the database does not reveal them.
//
// A sealed text begins with the name of its key and belongs to one purpose: moved
// to another row it does not open. A key file may have several keys, one per line
// in 64 hexadecimal digits. The first key seals and all keys open, so that a key
// can be changed while every text stays readable.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/belfry-run/belfry/core"
)

const (
	keySize = 32
	version = "s1"
)

// encoding is strict, so that a sealed text has only one form.
var encoding = base64.RawStdEncoding.Strict()

// Keys seal and open texts. [Parse] creates them; they never change.
type Keys struct {
	first string // name of the key that seals
	aeads map[string]cipher.AEAD
}

// Parse parses the text of a key file. Errors never contain the text.
func Parse(text string) (Keys, error) {
	k := Keys{aeads: map[string]cipher.AEAD{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		raw, err := hex.DecodeString(line)
		if err != nil || len(raw) != keySize {
			return Keys{}, core.InvalidField("seal_key_file", "", "has a line that is not a key",
				"64 hexadecimal digits on a line, as openssl rand -hex 32 prints them; the first key seals, the others only open")
		}
		name := nameOf(raw)
		if k.aeads[name], err = newAEAD(raw); err != nil {
			return Keys{}, err
		}
		if k.first == "" {
			k.first = name
		}
	}
	if k.first == "" {
		return Keys{}, core.InvalidField("seal_key_file", "", "holds no key", "openssl rand -hex 32 prints one")
	}
	return k, nil
}

// nameOf returns a name that identifies a key and reveals nothing about it: a part
// of a hash for this purpose only.
func nameOf(key []byte) string {
	sum := sha256.Sum256(append([]byte("belfry seal key\n"), key...))
	return hex.EncodeToString(sum[:4])
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Generate returns a new key as a line of a key file.
func Generate() string {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return hex.EncodeToString(key) + "\n"
}

// Name returns the name of the key that seals.
func (k Keys) Name() string { return k.first }

// Seal encrypts plain for one purpose, such as "secret/default/db-password". It
// also returns the name of the key, which the sealed text contains as well.
func (k Keys) Seal(purpose string, plain []byte) (key, sealed string, err error) {
	aead := k.aeads[k.first]
	if aead == nil {
		return "", "", core.Errorf(core.Internal, "there is no key to seal with")
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	box := aead.Seal(nonce, nonce, plain, []byte(version+"\n"+purpose))
	return k.first, strings.Join([]string{version, k.first, encoding.EncodeToString(box)}, "."), nil
}

// Open decrypts a text that was sealed for the same purpose. A missing key is
// [core.Unavailable], because it may be found again.
func (k Keys) Open(purpose, sealed string) ([]byte, error) {
	parts := strings.Split(sealed, ".")
	if len(parts) != 3 || parts[0] != version {
		return nil, core.Errorf(core.Internal, "what was sealed for %s is damaged", purpose)
	}
	aead := k.aeads[parts[1]]
	if aead == nil {
		return nil, &core.Error{
			Code: core.Unavailable, Message: purpose + " is sealed with key " + parts[1] + ", which seal_key_file does not hold",
			Hint: "add the key to the file, below the first one", Err: errNoKey,
		}
	}
	box, err := encoding.DecodeString(parts[2])
	if err != nil || len(box) < aead.NonceSize() {
		return nil, core.Errorf(core.Internal, "what was sealed for %s is damaged", purpose)
	}
	plain, err := aead.Open(nil, box[:aead.NonceSize()], box[aead.NonceSize():], []byte(version+"\n"+purpose))
	if err != nil {
		return nil, core.Errorf(core.Internal, "what was sealed for %s is damaged, or was sealed for something else", purpose)
	}
	return plain, nil
}

// errNoKey means that reading the file again may help.
var errNoKey = errors.New("no such key")
