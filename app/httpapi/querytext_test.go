package httpapi

import (
	"strings"
	"testing"
)

// Databases differ in what they take for text, and the API does not.
func TestAQueryIsText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for query, says := range map[string]string{
		"tag=%ff": "is not text", "queue=a%00b": "is not text", "%fe=1": "is not text", "tag=%C3%A9": "",
	} {
		status, _, body := b.raw(t, "GET", "/v1/jobs?"+query, "")
		if says == "" && status != 200 || says != "" && (status != 422 || !strings.Contains(body, says)) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}
