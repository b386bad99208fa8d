package programs

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
)

// byDigest names an artifact of a namespace.
type byDigest struct {
	SHA256    string `path:"sha256"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
}

func (in *byDigest) resolve(c *api.Call) (string, error) {
	if err := task.CheckDigest(in.SHA256); err != nil {
		return "", err
	}
	return api.InOne(c.Token, "namespace", in.Namespace)
}

func (s *server) artifactRoutes() {
	api.Serve(s.API, api.Endpoint{
		Id: "artifact-list", Method: http.MethodGet, Path: "/v1/artifacts", Scope: access.ScopeRead,
		Summary: "List artifacts by digest",
	}, func(ctx context.Context, c *api.Call, in *api.Namespaced) (core.Page[task.Artifact], error) {
		f, err := in.Filter(c)
		if err != nil {
			return core.Page[task.Artifact]{}, err
		}
		return api.Page(s.service.Artifacts(ctx, f))
	})

	type announcing struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "artifact-create", Method: http.MethodPost, Path: "/v1/artifacts", Scope: access.ScopeAdmin, Created: true,
		Summary: "Announce an artifact, and get a link to send its bytes",
		Doc: "The body needs sha256 and size alone. The link takes exactly these bytes, without a token, with the headers that stand beside it; " +
			"a path alone belongs to this server. Without a link they are there already, and nothing needs to be sent. " +
			"Afterwards confirm it. Announced again, it gives another link.",
	}, func(ctx context.Context, c *api.Call, in *announcing, a task.Artifact) (_ task.Upload, err error) {
		if a.Namespace, err = c.Owner(in.Namespace, a.Namespace); err != nil {
			return task.Upload{}, err
		}
		return s.service.CreateArtifact(ctx, task.Artifact{Namespace: a.Namespace, SHA256: a.SHA256, Size: a.Size})
	})

	api.Serve(s.API, api.Endpoint{
		Id: "artifact-show", Method: http.MethodGet, Path: "/v1/artifacts/{sha256}", Scope: access.ScopeRead,
		Summary: "Show an artifact, and the tasks that run it",
	}, func(ctx context.Context, c *api.Call, in *byDigest) (task.Artifact, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return task.Artifact{}, err
		}
		return s.service.Artifact(ctx, ns, in.SHA256)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "artifact-upload", Method: http.MethodGet, Path: "/v1/artifacts/{sha256}/upload", Scope: access.ScopeAdmin,
		Summary: "Get a link to send the bytes of an artifact that was announced",
		Doc:     "Without a link they are there already.",
	}, func(ctx context.Context, c *api.Call, in *byDigest) (task.Upload, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return task.Upload{}, err
		}
		return s.service.ArtifactUpload(ctx, ns, in.SHA256)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "artifact-confirm", Method: http.MethodPost, Path: "/v1/artifacts/{sha256}/confirm", Scope: access.ScopeAdmin, Timeout: wire.ConfirmTimeout,
		Summary: "Say that the bytes of an artifact were sent",
		Doc: "They are compared with the digest. Jobs that waited for them are let go: at once, or when they are due. " +
			"It is a conflict when they have not arrived, or are others. The same question may be asked again.",
	}, func(ctx context.Context, c *api.Call, in *byDigest) (task.Artifact, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return task.Artifact{}, err
		}
		return s.service.ConfirmArtifact(ctx, ns, in.SHA256)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "artifact-delete", Method: http.MethodDelete, Path: "/v1/artifacts/{sha256}", Scope: access.ScopeAdmin,
		Summary: "Delete an artifact that no task runs",
		Doc:     "Its bytes are removed within hours, unless another namespace has them too.",
	}, func(ctx context.Context, c *api.Call, in *byDigest) (api.None, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.DeleteArtifact(ctx, ns, in.SHA256)
	})

	type trying struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "artifact-try", Method: http.MethodPost, Path: "/v1/artifact-store/check", Scope: access.ScopeOperate,
		Summary: "Check that this node can store artifacts",
		Doc:     "It stores, reads and deletes some bytes. Nothing stays, but for the old version in a bucket with versioning.",
	}, func(ctx context.Context, c *api.Call, in *trying) (core.Check, error) {
		ns, err := api.InOne(c.Token, "namespace", in.Namespace)
		if err != nil {
			return core.Check{}, err
		}
		return s.service.TryArtifacts(ctx, ns)
	})
}
