package monitors

import (
	"net/http"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
)

func FuzzCallSaid(f *testing.F) {
	for _, text := range []string{"", "start", "fail", "0", "255", "256", "-1", "+1", "007"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		call, err := callSaid(text)
		if err != nil {
			if wire.StatusOf(core.CodeOf(err)) != http.StatusUnprocessableEntity {
				t.Error(err)
			}
			return
		}
		if call.ExitCode != nil && (*call.ExitCode < 0 || *call.ExitCode > 255 || (*call.ExitCode == 0) != (call.Kind == monitor.CallSuccess)) {
			t.Errorf("%q: %+v", text, call)
		}
	})
}
