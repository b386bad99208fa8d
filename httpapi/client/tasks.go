package client

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// TaskCalls are the calls about tasks, artifacts and secrets.
type TaskCalls struct{ server *server }

// CreateTask implements [httpapi.Tasks].
func (c TaskCalls) CreateTask(ctx context.Context, t task.Task) (task.Task, error) {
	return put[task.Task](ctx, c.server, http.MethodPost, "/v1/tasks", nil, t)
}

// TryTask implements [httpapi.Tasks]. If the server cannot be reached, it is
// repeated only with a key.
func (c TaskCalls) TryTask(ctx context.Context, t job.TaskTrial) (e job.Enqueued, err error) {
	err = c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/tasks/try", body: t, again: t.Key != ""}, &e)
	return e, err
}

// UpdateTask implements [httpapi.Tasks].
func (c TaskCalls) UpdateTask(ctx context.Context, t task.Task) (task.Task, error) {
	if err := checked("name", t.Name); err != nil {
		return task.Task{}, err
	}
	return put[task.Task](ctx, c.server, http.MethodPut, named("tasks", t.Name), nil, t)
}

// DeleteTask implements [httpapi.Tasks].
func (c TaskCalls) DeleteTask(ctx context.Context, namespace, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.server.delete(ctx, named("tasks", name), words("namespace", namespace))
}

// Task implements [httpapi.Tasks].
func (c TaskCalls) Task(ctx context.Context, namespace, name string) (task.Task, error) {
	if err := checked("name", name); err != nil {
		return task.Task{}, err
	}
	return get[task.Task](ctx, c.server, named("tasks", name), words("namespace", namespace))
}

// LimitUse implements [httpapi.Tasks].
func (c TaskCalls) LimitUse(ctx context.Context, namespace, name string) ([]view.LimitUse, error) {
	if err := checked("name", name); err != nil {
		return nil, err
	}
	return get[[]view.LimitUse](ctx, c.server, named("tasks", name)+"/limits", words("namespace", namespace))
}

// ResumeSequence implements [httpapi.Tasks].
func (c TaskCalls) ResumeSequence(ctx context.Context, namespace, name, key string) (bool, error) {
	if err := checked("name", name); err != nil {
		return false, err
	}
	r, err := put[wire.Resumed](ctx, c.server, http.MethodPost, named("tasks", name)+"/resume", words("namespace", namespace), wire.SequenceKey{Key: key})
	return r.Resumed, err
}

// Tasks implements [httpapi.Tasks].
func (c TaskCalls) Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error) {
	return get[core.Page[task.Task]](ctx, c.server, "/v1/tasks",
		paged(f.Paging, words("namespace", f.Namespace, "kind", string(f.Kind), "tag", f.Tag, "part", f.Part)))
}

// CreateArtifact implements [httpapi.Artifacts].
func (c TaskCalls) CreateArtifact(ctx context.Context, a task.Artifact) (up task.Upload, err error) {
	err = c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/" + artifactNoun, body: a, again: true}, &up)
	return up, err
}

// ArtifactUpload implements [httpapi.Artifacts].
func (c TaskCalls) ArtifactUpload(ctx context.Context, namespace, digest string) (task.Upload, error) {
	if err := task.CheckDigest(digest); err != nil {
		return task.Upload{}, err
	}
	return get[task.Upload](ctx, c.server, named(artifactNoun, digest, "upload"), words("namespace", namespace))
}

// ConfirmArtifact implements [httpapi.Artifacts].
func (c TaskCalls) ConfirmArtifact(ctx context.Context, namespace, digest string) (a task.Artifact, err error) {
	if err := task.CheckDigest(digest); err != nil {
		return a, err
	}
	err = c.server.do(ctx, ask{
		method: http.MethodPost, path: named(artifactNoun, digest, "confirm"), query: words("namespace", namespace),
		timeout: wire.ConfirmTimeout + 30*time.Second, again: true,
	}, &a)
	return a, err
}

// Artifact implements [httpapi.Artifacts].
func (c TaskCalls) Artifact(ctx context.Context, namespace, digest string) (task.Artifact, error) {
	if err := task.CheckDigest(digest); err != nil {
		return task.Artifact{}, err
	}
	return get[task.Artifact](ctx, c.server, named(artifactNoun, digest), words("namespace", namespace))
}

// Artifacts implements [httpapi.Artifacts].
func (c TaskCalls) Artifacts(ctx context.Context, f view.DocumentFilter) (core.Page[task.Artifact], error) {
	return listed[task.Artifact](ctx, c.server, artifactNoun, f)
}

// TryArtifacts implements [httpapi.Artifacts].
func (c TaskCalls) TryArtifacts(ctx context.Context, namespace string) (core.Check, error) {
	return put[core.Check](ctx, c.server, http.MethodPost, "/v1/artifact-store/check", words("namespace", namespace), nil)
}

// DeleteArtifact implements [httpapi.Artifacts].
func (c TaskCalls) DeleteArtifact(ctx context.Context, namespace, digest string) error {
	return c.server.drop(ctx, artifactNoun, namespace, digest)
}

// SetSecret implements [httpapi.KeptSecrets].
func (c TaskCalls) SetSecret(ctx context.Context, namespace, name string, value core.Secret) (task.KeptSecret, error) {
	if err := checked("name", name); err != nil {
		return task.KeptSecret{}, err
	}
	return put[task.KeptSecret](ctx, c.server, http.MethodPut, named(secretNoun, name), words("namespace", namespace), wire.SecretValue{Value: value})
}

// KeptSecrets implements [httpapi.KeptSecrets].
func (c TaskCalls) KeptSecrets(ctx context.Context, f view.DocumentFilter) (core.Page[task.KeptSecret], error) {
	return listed[task.KeptSecret](ctx, c.server, secretNoun, f)
}

// DeleteSecret implements [httpapi.KeptSecrets].
func (c TaskCalls) DeleteSecret(ctx context.Context, namespace, name string) error {
	return c.server.drop(ctx, secretNoun, namespace, name)
}

// RotateSecrets implements [httpapi.KeptSecrets].
func (c TaskCalls) RotateSecrets(ctx context.Context) (out task.ResealedSecrets, err error) {
	err = c.server.do(ctx, ask{method: http.MethodPost, path: named(secretNoun, "rotate"), timeout: wire.ApplyTimeout + 30*time.Second}, &out)
	return out, err
}
