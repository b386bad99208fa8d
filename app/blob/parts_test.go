package blob_test

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
)

func TestPartsOfAFolderShareNoBytes(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), "folder:"+filepath.Join(t.TempDir(), "artifacts")
	if names, err := blob.Parts(ctx, address); err != nil || len(names) != 0 {
		t.Fatalf("of a folder that is not there: %v %v", names, err)
	}
	sum := sha256.Sum256([]byte("bytes"))
	up := blob.Upload{Digest: hex.EncodeToString(sum[:]), Size: 5}
	for _, name := range []string{"alpha", "Alpha", "b.c-d_E"} {
		part, err := blob.Part(address, name)
		if err != nil {
			t.Fatal(err)
		}
		st, err := blob.Open(ctx, part, blob.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Stat(ctx, up.Digest); core.CodeOf(err) != core.NotFound {
			t.Errorf("%s has what was sent to another: %v", name, err)
		}
		if err := st.Put(ctx, up, strings.NewReader("bytes")); err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	names, err := blob.Parts(ctx, address)
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"Alpha", "alpha", "b.c-d_E"}) {
		t.Errorf("%v %v", names, err)
	}
}

func TestAPartIsAPlainName(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "..", "a/b", "=a", ".x"} {
		if part, err := blob.Part("folder:/tmp/x", bad); err == nil {
			t.Errorf("%q is %s", bad, part)
		}
	}
	for address, want := range map[string]string{
		"s3://bucket?region=eu-1":        "s3://bucket/team?region=eu-1",
		"s3://bucket/some/prefix/":       "s3://bucket/some/prefix/team",
		"s3://bucket/p?endpoint=http://": "s3://bucket/p/team?endpoint=http://",
	} {
		if got, err := blob.Part(address, "team"); err != nil || got != want {
			t.Errorf("%s: %s %v", address, got, err)
		}
	}
}
