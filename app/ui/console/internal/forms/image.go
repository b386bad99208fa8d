package forms

import (
	"encoding/base64"
	"io"
	"net/http"

	"github.com/belfry-run/belfry/public"
)

// Kept is the value of an image that is as it was saved.
const Kept = public.LogoKept

// Endings of the path of an image, in the names of its inputs.
const (
	fileOf   = "-file"
	removeOf = "-remove"
)

// Uploaded puts an image that was sent with a form into its field, in base64, and takes one away that is to be removed. It reads no more than
// a few bytes beyond most: a larger image is refused where it is checked.
func Uploaded(r *http.Request, path string, most int) error {
	if r.MultipartForm == nil {
		return nil
	}
	for _, header := range r.MultipartForm.File[path+fileOf] {
		if header.Size == 0 {
			continue
		}
		file, err := header.Open()
		if err != nil {
			return err
		}
		defer file.Close()
		all, err := io.ReadAll(io.LimitReader(file, int64(most)+3))
		if err != nil {
			return err
		}
		r.PostForm.Set(path, base64.StdEncoding.EncodeToString(all))
		return nil
	}
	if r.PostForm.Get(path+removeOf) == "true" {
		r.PostForm.Set(path, "")
	}
	return nil
}
