package s3test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
)

func TestPartsOfABucketShareNoBytes(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"whole bucket": "", "prefix": "/belfry/prod"} {
		address := "s3://" + newBucket(t) + prefix + "?region=" + region + "&endpoint=" + gateway.endpoint
		up := announce(program)
		for _, owner := range []string{"alpha", "Alpha"} {
			part, err := blob.Part(address, owner)
			must(t, err)
			st, err := blob.Open(t.Context(), part, blob.Options{})
			must(t, err)
			if _, err := st.Stat(t.Context(), up.Digest); core.CodeOf(err) != core.NotFound {
				t.Errorf("%s: %s has what was sent to another: %v", name, owner, err)
			}
			must(t, st.Put(t.Context(), up, bytes.NewReader(program)))
			must(t, st.Close())
		}
		names, err := blob.Parts(t.Context(), address)
		must(t, err)
		if slices.Sort(names); !slices.Equal(names, []string{"Alpha", "alpha"}) {
			t.Errorf("%s: %v", name, names)
		}
	}
}
