package transport_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/job"
)

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, want := range []job.Ticket{{JobID: 1, Secret: "s"}, {JobID: 1<<63 - 1, Secret: "\"\\\u2028é"}} {
		got, err := transport.Decode(transport.Encode(want))
		if err != nil || got != want {
			t.Errorf("%+v became %+v: %v", want, got, err)
		}
	}
	if got, err := transport.Decode([]byte(`{"v":1,"job_id":7,"secret":"s","later":true}`)); err != nil || got.JobID != 7 {
		t.Errorf("of a newer node: %+v, %v", got, err)
	}
}

func TestMalformedMessagesAreRefusedWithoutTheirText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "hunter2", "null", "[]", `{"v":1}`, `{"v":1,"job_id":1}`, `{"v":1,"secret":"hunter2"}`, `{"v":2,"job_id":1,"secret":"hunter2"}`,
		`{"v":1,"job_id":"1","secret":"hunter2"}`, `{"v":1,"job_id":-1,"secret":"hunter2"}`, `{"v":1,"job_id":1,"secret":"hunter2"`,
		`{"v":1,"job_id":1,"secret":"` + strings.Repeat("x", transport.MaxMessage) + `"}`,
	} {
		if _, err := transport.Decode([]byte(text)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(transport.Encode(job.Ticket{JobID: 1, Secret: "s"}))
	f.Fuzz(func(t *testing.T, text []byte) {
		ticket, err := transport.Decode(text)
		if err != nil {
			return
		}
		if again, err := transport.Decode(transport.Encode(ticket)); err != nil || again != ticket {
			t.Errorf("%+v became %+v: %v", ticket, again, err)
		}
	})
}
