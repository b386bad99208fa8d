package programs

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Artifacts stores the artifacts of programs. Bytes go directly to their blob
// store, through links.
type Artifacts interface {
	// CreateArtifact announces bytes by digest and size. It returns a link for the
	// upload, unless the bytes are already stored.
	CreateArtifact(ctx context.Context, a task.Artifact) (task.Upload, error)
	// ArtifactUpload returns another link for an announced artifact.
	ArtifactUpload(ctx context.Context, namespace, digest string) (task.Upload, error)
	// ConfirmArtifact verifies the uploaded bytes, and releases jobs that wait for
	// them. It is idempotent.
	ConfirmArtifact(ctx context.Context, namespace, digest string) (task.Artifact, error)
	Artifact(ctx context.Context, namespace, digest string) (task.Artifact, error)
	Artifacts(ctx context.Context, f view.DocumentFilter) (core.Page[task.Artifact], error)
	// TryArtifacts stores, reads and deletes an artifact of a namespace, and reports whether that works.
	TryArtifacts(ctx context.Context, namespace string) (core.Check, error)
	// DeleteArtifact refuses an artifact that a task uses.
	DeleteArtifact(ctx context.Context, namespace, digest string) error
}

// KeptSecrets stores secret values for programs. They are never shown.
type KeptSecrets interface {
	SetSecret(ctx context.Context, namespace, name string, value core.Secret) (task.KeptSecret, error)
	KeptSecrets(ctx context.Context, f view.DocumentFilter) (core.Page[task.KeptSecret], error)
	// DeleteSecret refuses a secret that a task uses.
	DeleteSecret(ctx context.Context, namespace, name string) error
	// RotateSecrets changes the key that seals secrets.
	RotateSecrets(ctx context.Context) (task.ResealedSecrets, error)
}
