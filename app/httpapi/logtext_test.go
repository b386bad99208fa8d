package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// A log that breaks off must not look like a whole one.
func TestALogThatBreaksOffIsNotEnded(t *testing.T) {
	for name, rest := range map[string]struct {
		part job.LogText
		err  error
	}{
		"the database is away":  {err: core.Errorf(core.Unavailable, "not now")},
		"the rest is not there": {part: job.LogText{Offset: 3, Next: 3, Size: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.when("LogText", func(_ context.Context, args []any) (any, error) {
				if args[2].(job.LogQuery).Offset == 0 {
					return job.LogText{Next: 3, Size: 6, Text: "abc"}, nil
				}
				return rest.part, rest.err
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/v1/jobs/9/log.txt", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer root")
			answer, err := b.http.Do(request)
			if err == nil {
				defer answer.Body.Close()
				_, err = io.ReadAll(answer.Body)
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the reader is told %v", err)
			}
			if log := b.logged.text(); !strings.Contains(log, `path=/v1/jobs/9/log.txt`) {
				t.Errorf("the request is not logged:\n%s", log)
			}
		})
	}
}
