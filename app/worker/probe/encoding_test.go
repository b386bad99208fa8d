package probe_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// packed is a text in encodings, of which the last is the outermost.
func packed(t *testing.T, text io.Reader, encodings ...string) []byte {
	t.Helper()
	for _, name := range encodings {
		var out bytes.Buffer
		var w io.WriteCloser
		switch name {
		case "gzip", "x-gzip":
			w = gzip.NewWriter(&out)
		case "deflate":
			w = zlib.NewWriter(&out)
		case "raw deflate":
			w, _ = flate.NewWriter(&out, flate.DefaultCompression)
		}
		_, err := io.Copy(w, text)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		text = &out
	}
	out, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEncodedBodies covers servers that encode bodies unasked, and tasks that ask for an encoding.
func TestEncodedBodies(t *testing.T) {
	t.Parallel()
	const text = `{"state":"fine"}`
	var header string
	var body []byte
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", header)
		_, _ = w.Write(body)
	})
	for _, c := range []struct {
		header string
		body   []byte
		asks   string         // Accept-Encoding of the task
		code   task.CheckCode // empty: the text is read
	}{
		{"gzip", packed(t, strings.NewReader(text), "gzip"), "", ""},
		{"gzip", packed(t, strings.NewReader(text), "gzip"), "gzip, br", ""},
		{"x-gzip", packed(t, strings.NewReader(text), "gzip"), "", ""},
		{"deflate", packed(t, strings.NewReader(text), "deflate"), "", ""},
		{"Deflate", packed(t, strings.NewReader(text), "raw deflate"), "", ""},
		{"deflate, gzip", packed(t, strings.NewReader(text), "deflate", "gzip"), "", ""},
		{"identity", []byte(text), "", ""},
		{"br", []byte(text), "", task.CodeBodyBroken},
		{"br", []byte(text), "br", task.CodeBodyBroken},
		{"zstd", []byte(text), "", task.CodeBodyBroken},
		{"aes128", []byte(text), "", task.CodeBodyBroken},
		{"gzip, gzip, gzip, gzip", packed(t, strings.NewReader(text), "gzip", "gzip", "gzip", "gzip"), "", task.CodeBodyBroken},
		{"deflate", []byte(text), "", task.CodeBodyBroken},
		{"gzip", packed(t, strings.NewReader(text), "gzip")[:20], "x", task.CodeBodyBroken},
		{"deflate", packed(t, zeroes(64<<20), "deflate"), "", task.CodeBodyTooLarge},
		{"deflate, gzip", packed(t, zeroes(64<<20), "deflate", "gzip"), "", task.CodeBodyTooLarge},
	} {
		header, body = c.header, c.body
		h := task.HTTP{URL: s.URL, Headers: map[string]string{}}
		if c.asks != "" {
			h.Headers["Accept-Encoding"] = c.asks
		}
		for _, wanted := range []func(*task.Task){
			func(tk *task.Task) { tk.HTTP.ExpectBody = "fine" },
			func(tk *task.Task) { tk.Conditions = []string{`json.state == "fine"`} },
			func(tk *task.Task) { tk.Conditions = []string{`body contains "fine"`} },
		} {
			h := h
			tk := task.Task{HTTP: &h}
			wanted(&tk)
			m := look(t, tk)
			if c.code == "" && m.Outcome != task.CheckOK || c.code != "" && (m.Outcome != task.CheckFail || m.Code != c.code) {
				t.Errorf("%s of %d bytes: %s %s %s, want %q", c.header, len(c.body), m.Outcome, m.Code, m.Message, c.code)
			}
		}
		// A job that does not look at the body has done its request.
		r := ask(t, h)
		isKnown := strings.Contains(c.header, "deflate") || strings.Contains(c.header, "gzip") && !strings.Contains(c.header, "gzip, gzip")
		switch {
		case c.code == "" && (r.Outcome != job.OutcomeOK || r.value.Body != text):
			t.Errorf("%s: %s", c.header, r.Output)
		case c.code != "" && !isKnown && (r.Outcome != job.OutcomeOK || r.value.Body != "" || r.value.Encoded != c.header):
			t.Errorf("%s: %s %s", c.header, r.Error, r.Output)
		case c.code != "" && isKnown && r.Outcome != job.OutcomeError:
			t.Errorf("%s: %s", c.header, r.Output)
		}
		h.ExpectBody = "fine"
		if r := ask(t, h); (r.Outcome == job.OutcomeOK) != (c.code == "") {
			t.Errorf("%s with expect_body: %s %s", c.header, r.Error, r.Output)
		}
	}
}

func zeroes(n int64) io.Reader { return io.LimitReader(zeros{}, n) }

// An encoding of nothing is nothing, as of a HEAD.
func TestAnEncodingOfNoBody(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "deflate") })
	for _, method := range []string{"HEAD", "GET"} {
		if m := look(t, task.Task{HTTP: &task.HTTP{URL: s.URL, Method: method}}); m.Outcome != task.CheckOK {
			t.Errorf("%s: %s %s", method, m.Code, m.Message)
		}
	}
}
