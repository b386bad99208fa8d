package jobs

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/job"
)

// deadlines is a writer that counts how often it was given time.
type deadlines struct {
	*httptest.ResponseRecorder
	set int
}

func (d *deadlines) SetWriteDeadline(time.Time) error {
	d.set++
	return nil
}

// logTexts is the log of any job, in parts.
type logTexts struct {
	Service
	part func(at int64) job.LogText
}

func (l *logTexts) LogText(_ context.Context, _ string, _ int64, q job.LogQuery) (job.LogText, error) {
	return l.part(q.Offset), nil
}

func TestEachPartOfALogHasItsOwnTime(t *testing.T) {
	a, err := api.New(api.Options{Auth: struct{ api.Authenticator }{}})
	if err != nil {
		t.Fatal(err)
	}
	part := func(at int64) job.LogText {
		return job.LogText{Offset: at, Next: at + 2, Size: 6, Text: "abcdef"[at : at+2]}
	}
	s := &server{API: a, service: &logTexts{part: part}}
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	s.sendLog(t.Context(), w, "ns", 9, job.LogQuery{}, part(0))
	if text := w.Body.String(); text != "abcdef" || w.set != 3 {
		t.Errorf("%q, with %d deadlines", text, w.set)
	}
}
