package probe_test

import (
	"net/http"
	"testing"

	"github.com/belfry-run/belfry/task"
)

// TestABodyIsDecodedBeforeItIsJudged has one text in several charsets, named by a
// header, a meta element or a mark.
func TestABodyIsDecodedBeforeItIsJudged(t *testing.T) {
	t.Parallel()
	bodies := map[string]struct{ kind, body, want string }{
		"/header":       {"text/html; charset=iso-8859-1", "Gr\xfc\xdfe", "Grüße"},
		"/meta":         {"text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"},
		"/shift_jis":    {"text/plain; charset=shift_jis", "\x93\xfa\x96{", "日本"},
		"/utf-16":       {"text/plain", "\xff\xfeG\x00r\x00\xfc\x00\xdf\x00e\x00", "Grüße"},
		"/mark":         {"text/plain", "\xef\xbb\xbfGrüße", "^Grüße$"},
		"/utf-8":        {"text/plain", "Grüße", "Grüße"},
		"/json":         {"application/json", `{"a":"Grüße"}`, "Grüße"},
		"/json-1":       {"application/json; charset=ISO-8859-1", "{\"a\":\"Gr\xfc\xdfe\"}", "Grüße"},
		"/json-16":      {"application/json; charset=utf-16le", "{\x00}\x00", "{}"},
		"/json-false":   {"application/json; charset=ISO-8859-1", `{"a":"Grüße"}`, "Grüße"},
		"/sheet":        {"application/vnd.ms-excel; charset=windows-1252", "Gr\xfc\xdfe", "Grüße"},
		"/unknown":      {"application/x-thing; charset=none", "Grüße", "Grüße"},
		"/octet-stream": {"application/octet-stream", "\x89PNG\xfc", `(?s)^.PNG`},
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", bodies[r.URL.Path].kind)
		_, _ = w.Write([]byte(bodies[r.URL.Path].body))
	})
	for path, b := range bodies {
		tk := task.Task{HTTP: &task.HTTP{URL: s.URL + path, ExpectBody: b.want}}
		if path != "/octet-stream" && path != "/mark" {
			tk.Conditions = []string{"body contains '" + b.want + "'"}
		}
		m := look(t, tk)
		if m.Outcome != task.CheckOK {
			t.Errorf("%s: %s %s", path, m.Outcome, m.Message)
		}
	}
}
