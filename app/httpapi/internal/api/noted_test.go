package api

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
)

func TestFloodOfRefusalsIsFewRows(t *testing.T) {
	t.Parallel()
	var kept apitest.Audit
	n := notes{To: &kept, Fail: func(err error) { t.Error(err) }}
	for i := range 10_000 {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		n.Add(noted{Actor: "unknown", Action: "refuse", Noun: "token", Name: addressText(addr)}, 1, true)
		n.Add(noted{Actor: fmt.Sprint("token:", i), Action: "refuse", Noun: "request"}, 1, false)
	}
	n.Flush()
	got := kept.Lines()
	if want := maxStrangers + 1 + maxNoted + 1; len(got) != want {
		t.Errorf("got %d audit rows, want %d", len(got), want)
	}
	if text := strings.Join(got, "\n"); !strings.Contains(text, "9968 times within a minute") || !strings.Contains(text, "9744 more requests") {
		t.Errorf("rows above the limit are not counted: %s", text)
	}
	n.Flush()
	if again := kept.Lines(); len(again) != len(got) {
		t.Errorf("a second flush recorded again: %s", again[len(got):])
	}
}
