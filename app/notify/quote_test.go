package notify

import (
	"net/http"
	"strings"
	"testing"
)

// Of an HTML page, an error quotes only the title.
func TestAnswerThatIsAPage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ kind, body, want string }{
		{"text/html; charset=utf-8", "<!doctype html><head>\n<title>401 &amp; more</title></head><body>" + strings.Repeat("x", 500), "a.example: answered 401 Unauthorized: 401 & more"},
		{"text/html", "<p>no", "a.example: answered 401 Unauthorized"},
		{"application/json", `{"error":"no"}`, `a.example: answered 401 Unauthorized: {"error":"no"}`},
	} {
		a := answer{host: "a.example", status: http.StatusUnauthorized, header: http.Header{"Content-Type": {row.kind}}, body: []byte(row.body), whole: true}
		if got := a.fault().Error(); got != row.want {
			t.Errorf("%s: %q, want %q", row.kind, got, row.want)
		}
	}
}
