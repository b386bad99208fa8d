package task

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

func TestAResultOfAnyWorkerIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	m := CheckResult{
		Outcome: "fine", Code: CheckCode(long), Message: long, IP: long, Latency: -1, Phases: Phases{DNS: -1, Transfer: MaxTimeout + 1},
		Hops: make([]Hop, 1000), Conditions: make([]ConditionResult, 1000),
		Snapshot: &Snapshot{Status: long, Body: long, Headers: map[string]string{}},
		Page:     &PageSeen{Text: strings.Repeat("x", MaxPageText+1), Digest: long, RawDigest: long, ConfigHash: long},
	}
	for i := range 1000 {
		m.Hops[i] = Hop{URL: long, IP: long}
		m.Conditions[i] = ConditionResult{Text: long, Value: long, Error: long}
		m.Snapshot.Headers[fmt.Sprint(i, long)] = long
	}
	got := m.Bounded()
	if got.Outcome != CheckError || got.Latency != 0 || len(got.Page.Text) != MaxPageText || len(got.Snapshot.Body) != MaxSnapshot || !got.Snapshot.Cut {
		t.Errorf("outcome %s, latency %s, %d bytes of the page, %d of the answer, cut %t", got.Outcome, got.Latency, len(got.Page.Text), len(got.Snapshot.Body), got.Snapshot.Cut)
	}
	if got.Phases != (Phases{Transfer: MaxTimeout}) {
		t.Errorf("phases %+v", got.Phases)
	}
	got.Page.Text = ""
	text, err := json.Marshal(got)
	if err != nil || len(text) > 1<<20 {
		t.Errorf("%d bytes beside the page, %v", len(text), err)
	}
	if len(m.Hops[0].URL) != len(long) || m.Snapshot.Status != long || len(m.Page.Text) != MaxPageText+1 {
		t.Error("what was given was changed")
	}
}

func TestAnHonestResultStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, m := range []CheckResult{
		{Outcome: CheckOK, Latency: core.Duration(time.Second), Status: 200},
		{
			Outcome: CheckFail, Code: CodeStatus, Message: "got 503", IP: "2001:db8::1", Latency: core.Duration(time.Second), Status: 503,
			Hops:       []Hop{{URL: "https://example.org/", Status: 503, IP: "2001:db8::1", Took: core.Duration(time.Second)}},
			Conditions: []ConditionResult{{Text: "status == 200", Value: "status = 503"}},
			Snapshot:   &Snapshot{Status: "503 Sorry", Headers: map[string]string{"Server": "x"}, Body: "sorry"},
			Page:       &PageSeen{Outcome: PageText, Digest: strings.Repeat("a", 64), RawDigest: strings.Repeat("b", 64), ConfigHash: strings.Repeat("c", 64), Text: "text"},
		},
	} {
		if got := m.Bounded(); !reflect.DeepEqual(got, m) {
			t.Errorf("%+v became %+v", m, got)
		}
	}
}
