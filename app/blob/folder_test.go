package blob_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/app/blob/blobtest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store {
		return serve(t, filepath.Join(t.TempDir(), "artifacts"), blob.Options{MaxSize: blobtest.MaxSize}).Folder
	})
}

// served is a folder behind a server.
type served struct {
	*blob.Folder
	path string
	url  string
	log  *strings.Builder // read it after the server has ended
	stop func()
}

func serve(t *testing.T, path string, o blob.Options) served {
	t.Helper()
	var log strings.Builder
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	o.URL = "http://" + server.Listener.Addr().String() + "/artifacts"
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	f, err := blob.OpenFolder(path, o)
	must(t, err)
	server.Config.Handler = f
	server.Start()
	t.Cleanup(func() {
		server.Close()
		_ = f.Close() // the suite may have done so
	})
	return served{Folder: f, path: path, url: o.URL, log: &log, stop: server.Close}
}

// Short names of helpers that the suite shares.
var (
	must     = blobtest.Must
	wantCode = blobtest.WantCode
	announce = blobtest.Announce
	program  = blobtest.Program
)

func (s served) put(t *testing.T, body []byte) blob.Upload {
	t.Helper()
	up := announce(body)
	must(t, s.Put(t.Context(), up, bytes.NewReader(body)))
	return up
}

func (s served) file(digest string) string {
	return filepath.Join(s.path, "sha256", digest[:2], digest)
}

func TestLinksOutliveAProcessAndNotTheirKey(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	up := s.put(t, program)
	from, err := s.SignGet(t.Context(), up.Digest, time.Minute)
	must(t, err)
	again := serve(t, s.path, blob.Options{})
	if got := again.status(t, again.here(from, s)); got != http.StatusOK {
		t.Errorf("another node of the folder: %d", got)
	}
	must(t, os.Remove(filepath.Join(s.path, "key")))
	third := serve(t, s.path, blob.Options{})
	if got := third.status(t, third.here(from, s)); got != http.StatusForbidden {
		t.Errorf("with a new key: %d", got)
	}
	other := serve(t, t.TempDir(), blob.Options{})
	other.put(t, program)
	if got := other.status(t, other.here(from, s)); got != http.StatusForbidden {
		t.Errorf("another folder: %d", got)
	}
}

// here is a link of another server, used at this one.
func (s served) here(q blob.SignedRequest, of served) blob.SignedRequest {
	q.URL = strings.Replace(q.URL, of.url, s.url, 1)
	return q
}

func (s served) status(t *testing.T, q blob.SignedRequest) int {
	t.Helper()
	r, err := signed.Request(t.Context(), q, nil)
	must(t, err)
	return ask(t, r).StatusCode
}

// ask is for answers whose body does not matter.
func ask(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	must(t, answer.Body.Close())
	return answer
}

func TestAKeyThatIsCutIsNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "key"), nil, 0o600))
	if _, err := blob.OpenFolder(dir, blob.Options{}); err == nil {
		t.Fatal("an empty key signs links that anybody can make")
	}
}

func TestTheFirstKeyStays(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	before, err := os.ReadFile(filepath.Join(s.path, "key"))
	must(t, err)
	must(t, s.MakeKey()) // of a node that looked at the same moment
	after, err := os.ReadFile(filepath.Join(s.path, "key"))
	must(t, err)
	if !bytes.Equal(before, after) || len(after) != sha256.Size {
		t.Error("links of the first node have ended")
	}
	if left := s.tmp(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestADamagedFileIsReplaced(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	up := s.put(t, program)
	must(t, os.Truncate(s.file(up.Digest), 3))
	wantCode(t, blob.Verify(t.Context(), s, up), core.Conflict)
	s.put(t, program)
	must(t, blob.Verify(t.Context(), s, up))
}

func TestFolderRefusesArtifactsThatAreNoFiles(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, program, 0o600))
	up := announce(program)
	must(t, os.Symlink(outside, s.file(up.Digest)))
	_, err := s.Stat(t.Context(), up.Digest)
	wantCode(t, err, core.NotFound)
	_, err = s.Folder.Open(t.Context(), up.Digest)
	wantCode(t, err, core.NotFound)
	must(t, os.WriteFile(filepath.Join(s.path, "sha256", "ab", "notes.txt"), nil, 0o600))
	if all, err := s.List(t.Context(), "", blob.MaxList); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
	s.put(t, program) // takes the place of the link, and not of what it leads to
	must(t, os.WriteFile(outside, []byte("changed"), 0o600))
	if got, err := os.ReadFile(s.file(up.Digest)); err != nil || !bytes.Equal(got, program) {
		t.Fatalf("%q %v", got, err)
	}
}

func TestUnfinishedUploadsAreSwept(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{})
	left := func(name string, age time.Duration) string {
		path := filepath.Join(s.path, "tmp", name)
		must(t, os.WriteFile(path, program, 0o600))
		must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
		return path
	}
	old := left("old", blob.Abandoned+time.Minute)
	s.put(t, program) // swept when it was opened, so not yet
	if _, err := os.Stat(old); err != nil {
		t.Fatal(err)
	}
	s.SweepAt(time.Now().Add(blob.Abandoned))
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old one is there: %v", err)
	}
	old = left("old", blob.Abandoned+time.Minute)
	young := left("young", time.Minute)
	serve(t, s.path, blob.Options{})
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old one is there after opening: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
}

func TestAFolderLeavesRoomOnItsDisk(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), blob.Options{KeepFree: 1 << 62})
	up := announce(program)
	wantCode(t, s.Check(t.Context()), core.Unavailable)
	wantCode(t, s.Put(t.Context(), up, bytes.NewReader(program)), core.Unavailable)
	to, err := s.SignPut(t.Context(), up, time.Minute)
	must(t, err)
	r, err := signed.Request(t.Context(), to, bytes.NewReader(program))
	must(t, err)
	if got := ask(t, r).StatusCode; got != http.StatusInsufficientStorage {
		t.Errorf("%d", got)
	}
	s.stop()
	if log := s.log.String(); strings.Count(log, `msg="no space left for artifacts"`) != 2 || strings.Contains(log, "signature") { // of Put and of the link
		t.Errorf("log: %s", log)
	}
}
