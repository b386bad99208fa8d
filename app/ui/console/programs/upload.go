package programs

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

type uploadAPI interface {
	CreateArtifact(ctx context.Context, a task.Artifact) (task.Upload, error)
	ConfirmArtifact(ctx context.Context, namespace, digest string) (task.Artifact, error)
	CreateTask(ctx context.Context, t task.Task) (task.Task, error)
	UpdateTask(ctx context.Context, t task.Task) (task.Task, error)
}

var uploadRoutes = routes{
	"GET /programs/-new":           newProgram,
	"GET /programs/{name}/upload":  newVersion,
	"POST /programs/-announce":     announceProgram,
	"POST /programs/-confirm":      confirmProgram,
	"POST /programs/-new":          saveProgram,
	"POST /programs/{name}/upload": saveProgram,
}

// uploadForm is a program that a person uploads: a new one, or a new version.
// The script announces and sends the file, and then sends the form. Without it the form comes with the file.
type uploadForm struct {
	Saved     string // task that gets a new version
	Err       error
	Elsewhere string // origin that the bytes go to, if it is not the node's own

	name, digest, size, arch, args, isolation string
	network                                   bool
}

func newProgram(p *page) error {
	return uploadForm{arch: task.DefaultArch, isolation: string(task.DefaultIsolation)}.show(p)
}

func newVersion(p *page) error {
	t, err := p.program()
	if err != nil {
		return err
	}
	return uploadForm{Saved: t.Name, arch: t.Program.Arch}.show(p)
}

func (f uploadForm) show(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	f.Elsewhere = p.allowUploads()
	if f.Err != nil {
		return p.Again("upload", f, f.Err)
	}
	return p.Show("upload", f)
}

// originRule matches an origin for a policy, and no text that would begin another
// directive or source.
var originRule = regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// allowUploads lets this page send to the origin of the store of artifacts, if
// that is not the node's own, and answers it.
func (p *page) allowUploads() string {
	origin, err := p.Site.Uploads.Origin(p.R.Context())
	if err != nil || origin != "" && !originRule.MatchString(origin) {
		p.Site.Log.Warn("pages cannot upload: the store of artifacts has no plain address", "origin", origin, "error", err)
		return ""
	}
	if origin != "" {
		p.W.Header().Set("Content-Security-Policy", strings.Replace(frame.Policy, "connect-src 'self'", "connect-src 'self' "+origin, 1))
	}
	return origin
}

// announceProgram tells the script the address for the bytes.
func announceProgram(p *page) error {
	size, err := strconv.ParseInt(p.R.PostFormValue("size"), 10, 64)
	if err != nil {
		return p.tell(nil, core.InvalidField("size", p.R.PostFormValue("size"), "is not a number", ""))
	}
	up, err := p.api.CreateArtifact(p.R.Context(), task.Artifact{Namespace: p.Namespace, SHA256: p.R.PostFormValue("sha256"), Size: size})
	if up.Link != nil && strings.HasPrefix(up.Link.URL, "/") {
		up.Link.URL = p.Site.Prefix + up.Link.URL
	}
	return p.tell(up, err)
}

// confirmProgram reports that the bytes were sent.
func confirmProgram(p *page) error {
	a, err := p.api.ConfirmArtifact(p.R.Context(), p.Namespace, p.R.PostFormValue("sha256"))
	return p.tell(a, err)
}

// tell answers a script, which shows errors by itself.
func (p *page) tell(v any, err error) error {
	p.W.Header().Set("Content-Type", "application/json")
	if err != nil {
		if core.CodeOf(err) == core.Unauthorized {
			return err // becomes the sign-in page
		}
		p.W.WriteHeader(p.Site.Status(err))
		v = parts.ProblemOf(err)
	}
	_ = json.NewEncoder(p.W).Encode(v) // the client may have closed the connection
	return nil
}

func saveProgram(p *page) error {
	err := p.Allow(access.ScopeAdmin) // before the file is read
	if err != nil {
		return err
	}
	if frame.HasFiles(p.R) {
		err = p.receive()
	}
	form := p.R.PostForm
	f := uploadForm{Saved: p.R.PathValue("name"), name: strings.TrimSpace(form.Get("name")), digest: form.Get("program.sha256"), size: form.Get("program.size"),
		arch: form.Get("program.arch"), args: form.Get("program.args"), isolation: form.Get("program.min_isolation"), network: form.Get("program.network") != ""}
	var t task.Task
	if err == nil {
		t, err = f.task(p)
	}
	switch {
	case err != nil:
	case f.Saved == "":
		t, err = p.api.CreateTask(p.R.Context(), t)
	default:
		t, err = p.api.UpdateTask(p.R.Context(), t)
	}
	if err != nil {
		f.Err = err
		return f.show(p)
	}
	return p.Done(p.Link("programs", t.Name), "Saved program %s, as %s.", t.Name, t.Program.SHA256[:12])
}

// task is the task of the form. Of a saved task only the bytes change.
func (f uploadForm) task(p *page) (t task.Task, err error) {
	size, err := strconv.ParseInt(f.size, 10, 64)
	if err != nil || f.digest == "" {
		return t, core.Errorf(core.Invalid, "no program was uploaded").WithHint("choose a file")
	}
	if f.Saved != "" {
		if t, err = p.program(); err != nil {
			return t, err
		}
		t.Program.SHA256, t.Program.Size, t.Program.Arch = f.digest, size, f.arch
		return t, nil
	}
	return task.Task{Namespace: p.Namespace, Name: f.name, Kind: task.KindProgram, Program: &task.Program{
		SHA256: f.digest, Size: size, Arch: f.arch, Args: parts.Lines(f.args), Network: f.network, MinIsolation: task.Isolation(f.isolation),
	}}, nil
}

// Fields are the inputs beside the file.
func (f uploadForm) Fields() []parts.Field {
	arch := parts.NewField("program.arch", "Machine", "select", f.arch, "Found in the file.", f.Err).Among(task.Arches...)
	if f.Saved != "" {
		return []parts.Field{arch}
	}
	network := ""
	if f.network {
		network = "true"
	}
	var tiers []string
	for _, i := range task.Isolations {
		tiers = append(tiers, string(i))
	}
	return []parts.Field{
		parts.NewField("name", "Name", "text", f.name, "Of its task.", f.Err).Need(), arch,
		parts.NewField("program.args", "Arguments", "area", f.args, "One a line, after the program's own name.", f.Err),
		parts.NewField("program.min_isolation", "Weakest isolation it may run under", "select", f.isolation, "", f.Err).Among(tiers...),
		parts.NewField("program.network", "Let it reach the network, where a worker's operator allows that", "check", network, "", f.Err),
	}
}

// Sent is the digest of the file that the script has sent already, when the form is shown again.
func (f uploadForm) Sent() (digest string) { return f.digest }

// Size is the size of that file.
func (f uploadForm) Size() string { return f.size }

// Most is the largest program.
func (f uploadForm) Most() int64 { return task.MaxArtifact }

// UploadCommand is the command that uploads a program.
func (p *page) UploadCommand(f uploadForm) parts.Command {
	name := f.Saved
	if name == "" {
		name = "hello"
	}
	return p.Command(http.MethodPost, p.APIPath("/v1/artifacts"), `{"sha256":"…","size":1}`, "program", "push", "./bin", "--name", name)
}
