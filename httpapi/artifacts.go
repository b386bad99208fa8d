package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
)

// byDigest names an artifact of a namespace.
type byDigest struct {
	SHA256    string `path:"sha256"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
}

func (in *byDigest) resolve(c *call) (string, error) {
	if err := task.CheckDigest(in.SHA256); err != nil {
		return "", err
	}
	return inOne(c.token, "namespace", in.Namespace)
}

func (s *Server) artifactRoutes() {
	serve(s, endpoint{
		id: "artifact-list", method: http.MethodGet, path: "/v1/artifacts", scope: access.ScopeRead,
		summary: "List artifacts by digest",
	}, func(ctx context.Context, c *call, in *namespaced) (core.Page[task.Artifact], error) {
		f, err := in.filter(c)
		if err != nil {
			return core.Page[task.Artifact]{}, err
		}
		return page(s.service.Artifacts(ctx, f))
	})

	type announcing struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	serveBody(s, endpoint{
		id: "artifact-create", method: http.MethodPost, path: "/v1/artifacts", scope: access.ScopeAdmin, created: true,
		summary: "Announce an artifact, and get a link to send its bytes",
		doc: "The body needs sha256 and size alone. The link takes exactly these bytes, without a token, with the headers that stand beside it; " +
			"a path alone belongs to this server. Without a link they are there already, and nothing needs to be sent. " +
			"Afterwards confirm it. Announced again, it gives another link.",
	}, func(ctx context.Context, c *call, in *announcing, a task.Artifact) (_ task.Upload, err error) {
		if a.Namespace, err = c.owner(in.Namespace, a.Namespace); err != nil {
			return task.Upload{}, err
		}
		return s.service.CreateArtifact(ctx, task.Artifact{Namespace: a.Namespace, SHA256: a.SHA256, Size: a.Size})
	})

	serve(s, endpoint{
		id: "artifact-show", method: http.MethodGet, path: "/v1/artifacts/{sha256}", scope: access.ScopeRead,
		summary: "Show an artifact, and the tasks that run it",
	}, func(ctx context.Context, c *call, in *byDigest) (task.Artifact, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return task.Artifact{}, err
		}
		return s.service.Artifact(ctx, ns, in.SHA256)
	})

	serve(s, endpoint{
		id: "artifact-upload", method: http.MethodGet, path: "/v1/artifacts/{sha256}/upload", scope: access.ScopeAdmin,
		summary: "Get a link to send the bytes of an artifact that was announced",
		doc:     "Without a link they are there already.",
	}, func(ctx context.Context, c *call, in *byDigest) (task.Upload, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return task.Upload{}, err
		}
		return s.service.ArtifactUpload(ctx, ns, in.SHA256)
	})

	serve(s, endpoint{
		id: "artifact-confirm", method: http.MethodPost, path: "/v1/artifacts/{sha256}/confirm", scope: access.ScopeAdmin, timeout: wire.ConfirmTimeout,
		summary: "Say that the bytes of an artifact were sent",
		doc: "They are compared with the digest. Jobs that waited for them are let go: at once, or when they are due. " +
			"It is a conflict when they have not arrived, or are others. The same question may be asked again.",
	}, func(ctx context.Context, c *call, in *byDigest) (task.Artifact, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return task.Artifact{}, err
		}
		return s.service.ConfirmArtifact(ctx, ns, in.SHA256)
	})

	serve(s, endpoint{
		id: "artifact-delete", method: http.MethodDelete, path: "/v1/artifacts/{sha256}", scope: access.ScopeAdmin,
		summary: "Delete an artifact that no task runs",
		doc:     "Its bytes are removed within hours, unless another namespace has them too.",
	}, func(ctx context.Context, c *call, in *byDigest) (none, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return none{}, err
		}
		return none{}, s.service.DeleteArtifact(ctx, ns, in.SHA256)
	})
}
