package task

import (
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Upload is the answer to the announcement of an artifact: what is known of it,
// and where its bytes are to be sent.
type Upload struct {
	Artifact Artifact       `json:"artifact"`
	Link     *SignedRequest `json:"link,omitempty" doc:"Where to send its bytes; missing when they are there"`
}

// UploadLink is how long a link to send an artifact lives.
const UploadLink = time.Hour

// DownloadLink is how long a link to fetch an artifact lives.
const DownloadLink = 15 * time.Minute

// DefaultUploadWait is how long an artifact that was not uploaded is remembered,
// unless a task names it.
const DefaultUploadWait = 24 * time.Hour

// WithDefaults fills what was left out, and writes the digest in lower case.
func (a Artifact) WithDefaults() Artifact {
	a.Namespace = core.Or(a.Namespace, core.DefaultNamespace)
	a.SHA256 = strings.ToLower(a.SHA256)
	return a
}

// Validate says what is wrong with an artifact that is announced.
func (a Artifact) Validate() error {
	var p core.Problems
	core.CheckName(&p, "namespace", a.Namespace)
	checkArtifact(&p, a.SHA256, a.Size)
	return p.Err("artifact")
}

// checkArtifact looks at what bytes are called by.
func checkArtifact(p *core.Problems, digest string, size int64) {
	if !IsDigest(digest) {
		p.Add("sha256", digest, "is not a SHA-256", "64 hexadecimal digits, as sha256sum prints them")
	}
	if size <= 0 || size > MaxArtifact {
		p.Addf("size", size, "is outside 1 to %d bytes", MaxArtifact)
	}
}

// CheckDigest refuses what is not the name of an artifact.
func CheckDigest(digest string) error {
	if IsDigest(digest) {
		return nil
	}
	return core.InvalidField("sha256", digest, "is not a SHA-256", "64 lower-case hexadecimal digits, see: belfry artifact list")
}

// KeptSecret is a value that is given to programs and never shown: what is
// known of it beside the value.
type KeptSecret struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"`
	Tasks     []string  `json:"tasks,omitempty" doc:"Tasks whose programs get it, up to ten"`
}

// MaxSecret bounds the value of a secret, in bytes. It becomes an environment
// variable.
const MaxSecret = 32 << 10

// CheckSecret says what is wrong with the value of a secret, without repeating
// it.
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

// ResealedSecrets is what came of changing the key that secrets are sealed with.
type ResealedSecrets struct {
	Key    string `json:"key" doc:"Name of the key that seals now"`
	Sealed int    `json:"sealed" doc:"How many were sealed anew"`
}
