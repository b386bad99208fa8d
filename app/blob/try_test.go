package blob_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
)

func TestATryOfAFolderLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, root string){
		"no folder":  func(*testing.T, string) {},
		"the folder": func(t *testing.T, root string) { must(t, os.MkdirAll(root, 0o700)) },
		"its part": func(t *testing.T, root string) {
			st, err := blob.Open(t.Context(), "folder:"+filepath.Join(root, "default"), blob.Options{})
			must(t, err)
			must(t, st.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			root := filepath.Join(top, "a", "b")
			prepare(t, root)
			before := filesBelow(t, top)
			must(t, blob.Try(t.Context(), "folder:"+root, "default", blob.Options{}))
			if after := filesBelow(t, top); !slices.Equal(after, before) {
				t.Errorf("%d files before, and after it: %v", len(before), after)
			}
		})
	}
}

func filesBelow(t *testing.T, dir string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return all
}

func TestATryFindsAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	file := filepath.Join(top, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if err := blob.Try(t.Context(), "folder:"+filepath.Join(file, "artifacts"), "default", blob.Options{}); err == nil {
		t.Error("a folder in a file")
	}
	root := filepath.Join(top, "artifacts")
	err := blob.Try(t.Context(), "folder:"+root, "default", blob.Options{KeepFree: 1 << 60})
	if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "no space left for artifacts") {
		t.Errorf("a full disk: %v", err)
	}
	if left := filesBelow(t, top); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

// service is an S3 service of one bucket that refuses some methods.
type service struct {
	mu      sync.Mutex
	refuses string
	objects map[string]string
	asked   []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method)
	object, there := s.objects[r.URL.Path]
	switch {
	case r.Method == s.refuses:
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPut:
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		s.objects[r.URL.Path] = string(body)
	case r.Method == http.MethodDelete:
		delete(s.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	case !there:
		w.WriteHeader(http.StatusNotFound)
	default:
		fmt.Fprint(w, object)
	}
}

func TestATryOfABucketLeavesNothing(t *testing.T) {
	credentials(t, accessKey, secretKey)
	for refuses, says := range map[string]string{"": "", http.MethodPut: "cannot be kept", http.MethodGet: "refuses the credentials", http.MethodDelete: "remove artifact"} {
		s := &service{refuses: refuses, objects: map[string]string{}}
		server := httptest.NewServer(s)
		err := blob.Try(t.Context(), "s3://arts?region=us-east-1&path_style=true&endpoint="+server.URL, "default", blob.Options{})
		server.Close()
		if (says == "") != (err == nil) || err != nil && (core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), says)) {
			t.Errorf("refuses %s: %v", refuses, err)
		}
		if len(s.objects) > 0 && refuses != http.MethodDelete {
			t.Errorf("refuses %s: left %v after %v", refuses, s.objects, s.asked)
		}
	}
}
