package programs

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Artifacts keeps what programs are made of. Bytes go straight to where they
// lie, by links.
type Artifacts interface {
	// CreateArtifact announces bytes by digest and size, and answers a link to
	// send them unless they are there.
	CreateArtifact(ctx context.Context, a task.Artifact) (task.Upload, error)
	// ArtifactUpload is another link for one that was announced.
	ArtifactUpload(ctx context.Context, namespace, digest string) (task.Upload, error)
	// ConfirmArtifact compares what was sent, and lets jobs go that waited for it.
	// It is idempotent.
	ConfirmArtifact(ctx context.Context, namespace, digest string) (task.Artifact, error)
	Artifact(ctx context.Context, namespace, digest string) (task.Artifact, error)
	Artifacts(ctx context.Context, f view.DocumentFilter) (core.Page[task.Artifact], error)
	// DeleteArtifact refuses one that a task runs.
	DeleteArtifact(ctx context.Context, namespace, digest string) error
}

// KeptSecrets keeps values that programs get and that are never shown.
type KeptSecrets interface {
	SetSecret(ctx context.Context, namespace, name string, value core.Secret) (task.KeptSecret, error)
	KeptSecrets(ctx context.Context, f view.DocumentFilter) (core.Page[task.KeptSecret], error)
	// DeleteSecret refuses one that a task uses.
	DeleteSecret(ctx context.Context, namespace, name string) error
	// RotateSecrets changes the key that they are sealed with.
	RotateSecrets(ctx context.Context) (task.ResealedSecrets, error)
}
