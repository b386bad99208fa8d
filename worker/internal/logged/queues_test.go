package logged

import (
	"log/slog"
	"strings"
	"testing"
)

func TestQueuesAreNamedWithTheirSlots(t *testing.T) {
	t.Parallel()
	var text, doc strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&doc, nil)} {
		slog.New(h).Info("worker serves", "queues", Queues(map[string]int{"mail": 2, "default": 10}))
	}
	if want := "queues.default=10 queues.mail=2\n"; !strings.HasSuffix(text.String(), want) {
		t.Errorf("%q does not end with %q", text.String(), want)
	}
	if want := `"queues":{"default":10,"mail":2}}` + "\n"; !strings.HasSuffix(doc.String(), want) {
		t.Errorf("%q does not end with %q", doc.String(), want)
	}
}
