package programs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"

	"github.com/belfry-run/belfry/app/internal/pace"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

const (
	maxFields = 256 << 10 // bytes of the fields beside a file
	// maxSent bounds a form with its file. It is above the largest program, so that the form of a larger one is read to its
	// end, and shown again as it was typed.
	maxSent = 2 * task.MaxArtifact
)

// sentForm is a form that comes with its file.
type sentForm struct {
	parts  *multipart.Reader
	values url.Values
	size   int  // bytes of values
	over   bool // the form was read to its end
}

// receive reads the form of a browser without scripts. The file is stored when the whole form is here, so that nothing
// stays of a form that breaks off. The values of the form are those of the request afterwards, also after an error: then without
// the digest.
func (p *page) receive() error {
	size := cmp.Or(max(p.R.ContentLength, 0), maxSent)
	if size > maxSent {
		return core.Errorf(core.TooLarge, "the file is over the limit of %s", core.SizeText(task.MaxArtifact))
	}
	body, err := pace.Default.Body(p.W, http.MaxBytesReader(p.W, p.R.Body, maxSent), size)
	if err != nil {
		return err
	}
	p.R.Body = io.NopCloser(body)
	parts, err := p.R.MultipartReader()
	if err != nil {
		return broken(err)
	}
	form := sentForm{parts: parts, values: url.Values{}}
	p.R.PostForm, p.R.Form = form.values, form.values
	file, err := form.file()
	if err != nil || file == nil {
		return err
	}
	refused := p.Site.Uploads.Receive(p.R.Context(), file, func(file io.ReaderAt, a task.Artifact) error {
		if err := form.rest(); err != nil {
			return err
		}
		return p.keep(file, a)
	})
	if refused == nil {
		return nil
	}
	err = form.rest()
	form.values.Del("program.sha256") // of a file that was sent before
	form.values.Del("program.size")
	return cmp.Or(err, refused)
}

// file reads fields up to the next file. It returns nil after the last.
func (f *sentForm) file() (*multipart.Part, error) {
	for !f.over {
		part, err := f.parts.NextPart()
		if err == io.EOF { //nolint:errorlint // the reader wraps the end of a form that breaks off
			f.over = true
			break
		}
		if err != nil {
			return nil, broken(err)
		}
		if part.FileName() != "" {
			return part, nil
		}
		text, err := io.ReadAll(io.LimitReader(part, int64(maxFields-f.size)+1))
		if err != nil {
			return nil, broken(err)
		}
		if f.size += len(text) + len(part.FormName()); f.size > maxFields {
			return nil, core.Errorf(core.TooLarge, "the form is over its limit of %s", core.SizeText(maxFields)).WithHint("write less")
		}
		if part.FormName() != "file" { // of which none was chosen
			f.values.Add(part.FormName(), string(text))
		}
	}
	return nil, nil
}

// rest reads the form to its end.
func (f *sentForm) rest() error {
	for {
		if file, err := f.file(); err != nil || file == nil {
			return err
		}
	}
}

func broken(err error) error {
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return core.Errorf(core.TooLarge, "the file is over the limit of %s", core.SizeText(task.MaxArtifact))
	}
	return core.Errorf(core.Invalid, "the form could not be read: %v", err).WithHint("go back and send it again")
}

// keep stores a program, as the API does: its artifact is created first, and confirmed last.
func (p *page) keep(file io.ReaderAt, a task.Artifact) error {
	arch, err := p.Site.Inspect(io.NewSectionReader(file, 0, a.Size))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.R.Context(), pace.Default.Longest(a.Size))
	defer cancel()
	a.Namespace = p.Namespace
	up, err := p.api.CreateArtifact(ctx, a)
	if err != nil {
		return err
	}
	if up.Link != nil {
		if err := p.Site.Uploads.Put(ctx, a.Namespace+"/"+a.SHA256, a.Size, io.NewSectionReader(file, 0, a.Size)); err != nil {
			return err
		}
	}
	if _, err := p.api.ConfirmArtifact(ctx, a.Namespace, a.SHA256); err != nil {
		return err
	}
	p.R.PostForm.Set("program.sha256", a.SHA256)
	p.R.PostForm.Set("program.size", strconv.FormatInt(a.Size, 10))
	p.R.PostForm.Set("program.arch", arch)
	return nil
}
