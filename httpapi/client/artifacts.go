package client

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// The nouns, as addresses have them.
const (
	artifactNoun = "artifacts"
	secretNoun   = "secrets"
)

// CreateArtifact implements [httpapi.Artifacts].
func (c *Client) CreateArtifact(ctx context.Context, a task.Artifact) (up task.Upload, err error) {
	err = c.do(ctx, ask{method: http.MethodPost, path: "/v1/" + artifactNoun, body: a, again: true}, &up)
	return up, err
}

// ArtifactUpload implements [httpapi.Artifacts].
func (c *Client) ArtifactUpload(ctx context.Context, namespace, digest string) (task.Upload, error) {
	if err := task.CheckDigest(digest); err != nil {
		return task.Upload{}, err
	}
	return get[task.Upload](ctx, c, named(artifactNoun, digest, "upload"), words("namespace", namespace))
}

// ConfirmArtifact implements [httpapi.Artifacts].
func (c *Client) ConfirmArtifact(ctx context.Context, namespace, digest string) (a task.Artifact, err error) {
	if err := task.CheckDigest(digest); err != nil {
		return a, err
	}
	err = c.do(ctx, ask{
		method: http.MethodPost, path: named(artifactNoun, digest, "confirm"), query: words("namespace", namespace),
		timeout: wire.ConfirmTimeout + 30*time.Second, again: true,
	}, &a)
	return a, err
}

// Artifact implements [httpapi.Artifacts].
func (c *Client) Artifact(ctx context.Context, namespace, digest string) (task.Artifact, error) {
	if err := task.CheckDigest(digest); err != nil {
		return task.Artifact{}, err
	}
	return get[task.Artifact](ctx, c, named(artifactNoun, digest), words("namespace", namespace))
}

// Artifacts implements [httpapi.Artifacts].
func (c *Client) Artifacts(ctx context.Context, f view.DocumentFilter) (core.Page[task.Artifact], error) {
	return listed[task.Artifact](ctx, c, artifactNoun, f)
}

// DeleteArtifact implements [httpapi.Artifacts].
func (c *Client) DeleteArtifact(ctx context.Context, namespace, digest string) error {
	return c.drop(ctx, artifactNoun, namespace, digest)
}

// SetSecret implements [httpapi.KeptSecrets].
func (c *Client) SetSecret(ctx context.Context, namespace, name string, value core.Secret) (task.KeptSecret, error) {
	if err := checked("name", name); err != nil {
		return task.KeptSecret{}, err
	}
	return put[task.KeptSecret](ctx, c, http.MethodPut, named(secretNoun, name), words("namespace", namespace), wire.SecretValue{Value: value})
}

// KeptSecrets implements [httpapi.KeptSecrets].
func (c *Client) KeptSecrets(ctx context.Context, f view.DocumentFilter) (core.Page[task.KeptSecret], error) {
	return listed[task.KeptSecret](ctx, c, secretNoun, f)
}

// DeleteSecret implements [httpapi.KeptSecrets].
func (c *Client) DeleteSecret(ctx context.Context, namespace, name string) error {
	return c.drop(ctx, secretNoun, namespace, name)
}

// RotateSecrets implements [httpapi.KeptSecrets].
func (c *Client) RotateSecrets(ctx context.Context) (out task.ResealedSecrets, err error) {
	err = c.do(ctx, ask{method: http.MethodPost, path: named(secretNoun, "rotate"), timeout: wire.ApplyTimeout + 30*time.Second}, &out)
	return out, err
}
