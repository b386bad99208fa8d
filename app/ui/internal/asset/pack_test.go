package asset

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPack(t *testing.T) {
	page := []byte(strings.Repeat("<tr><td>row</td></tr>", 500))
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	if got := Pack(w.Header(), r, page); !bytes.Equal(got, page) || w.Header().Get("Content-Encoding") != "" || w.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("a reader that takes no gzip gets %d bytes, %v", len(got), w.Header())
	}
	r.Header.Set("Accept-Encoding", "br, gzip")
	lengths := map[int]bool{}
	for range 20 {
		w = httptest.NewRecorder()
		packed := Pack(w.Header(), r, page)
		lengths[len(packed)] = true
		if w.Header().Get("Content-Encoding") != "gzip" || len(packed) > len(page)/10 {
			t.Fatalf("%d of %d bytes, %v", len(packed), len(page), w.Header())
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(z); err != nil || !bytes.Equal(plain, page) {
			t.Fatalf("unpacked to %d bytes, %v", len(plain), err)
		}
	}
	if len(lengths) < 5 {
		t.Errorf("20 answers have %d lengths: what is in a page can be guessed from them", len(lengths))
	}
	small := []byte("small")
	if w = httptest.NewRecorder(); !bytes.Equal(Pack(w.Header(), r, small), small) {
		t.Error("a small body was packed")
	}
}
