package base_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/store/base"
)

// TestDocsAreBoundByBytes decodes documents that are too large to be cached together.
func TestDocsAreBoundByBytes(t *testing.T) {
	t.Parallel()
	var docs base.Docs[int, *string]
	text := `"` + strings.Repeat("x", base.MaxDocBytes/4) + `"`
	decode := func(key int) *string {
		v, err := docs.Decode(key, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := decode(1)
	for range 9 { // the same document again takes no more room
		decode(2)
	}
	if decode(1) != first {
		t.Error("a small cache was dropped")
	}
	for key := 3; key <= 5; key++ {
		decode(key)
	}
	if decode(1) == first {
		t.Error("the cache is not bounded by bytes")
	}
}
