package task

import (
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Upload is the answer to the announcement of an artifact: its record, and where
// to send its bytes.
type Upload struct {
	Artifact Artifact       `json:"artifact"`
	Link     *SignedRequest `json:"link,omitempty" doc:"Where to send its bytes; missing when they are there"`
}

// UploadLink is the validity of a link to send an artifact.
const UploadLink = time.Hour

// DownloadLink is the validity of a link to fetch an artifact.
const DownloadLink = 15 * time.Minute

// DefaultUploadWait is how long the record of a pending upload is kept, unless a
// task names the artifact.
const DefaultUploadWait = 24 * time.Hour

// WithDefaults returns a copy with the defaults of empty fields and the digest in
// lower case.
func (a Artifact) WithDefaults() Artifact {
	a.Namespace = core.Or(a.Namespace, core.DefaultNamespace)
	a.SHA256 = strings.ToLower(a.SHA256)
	return a
}

// Validate returns the problems of an artifact that is announced as one error, or nil.
func (a Artifact) Validate() error {
	var p core.Problems
	core.CheckName(&p, "namespace", a.Namespace)
	checkArtifact(&p, a.SHA256, a.Size)
	return p.Err("artifact")
}

// checkArtifact checks the digest and size of an artifact.
func checkArtifact(p *core.Problems, digest string, size int64) {
	if !IsDigest(digest) {
		p.Add("sha256", digest, "is not a SHA-256", "64 hexadecimal digits, as sha256sum prints them")
	}
	if size <= 0 || size > MaxArtifact {
		p.Addf("size", size, "is outside 1 to %d bytes", MaxArtifact)
	}
}

// CheckDigest returns an error if digest is not the SHA-256 of an artifact.
func CheckDigest(digest string) error {
	if IsDigest(digest) {
		return nil
	}
	return core.InvalidField("sha256", digest, "is not a SHA-256", "64 lower-case hexadecimal digits, see: belfry artifact list")
}

// KeptSecret is the record of a secret for programs, without its value, which is
// never shown.
type KeptSecret struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"`
	Tasks     []string  `json:"tasks,omitempty" doc:"Tasks whose programs get it, up to ten"`
}

// MaxSecret is the longest value of a secret, in bytes, because it becomes an
// environment variable.
const MaxSecret = 32 << 10

// CheckSecret returns an error if the value of a secret is invalid. The error does
// not contain the value.
func CheckSecret(value core.Secret) error {
	switch {
	case value == "":
		return core.InvalidField("value", "", "is missing", "")
	case len(value) > MaxSecret:
		return core.InvalidField("value", "", "has "+strconv.Itoa(len(value))+" bytes", "at most "+strconv.Itoa(MaxSecret)+": it becomes an environment variable")
	case strings.ContainsRune(string(value), 0):
		return core.InvalidField("value", "", "contains a NUL byte", "it becomes an environment variable; write binary data in base64")
	case value == core.Redacted:
		return core.InvalidField("value", "", "is what stands for a secret where one is shown", "give the secret itself")
	}
	return nil
}

// ResealedSecrets is the result of changing the key that seals secrets.
type ResealedSecrets struct {
	Key    string `json:"key" doc:"Name of the key that seals now"`
	Sealed int    `json:"sealed" doc:"How many were sealed anew"`
}
