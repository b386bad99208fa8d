//go:build linux

package target

import (
	"net/http"
	"os"
	"slices"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

func TestATargetRecordsItsClients(t *testing.T) {
	target, err := Start(3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	}()
	want := []int64{0, 1, 2, 7}
	for _, i := range want {
		answer, err := http.Get(target.URL(int(i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("monitor %d: %s %v", i, answer.Status, err)
		}
	}
	seen, err := target.Seen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, a := range seen {
		got = append(got, a.Monitor)
	}
	if !slices.Equal(got, want) {
		t.Errorf("requests: got %v, want %v", got, want)
	}
	if again, err := target.Seen(t.Context()); err != nil || len(again) != 0 {
		t.Errorf("requests of the second read: got %v, error %v", again, err)
	}
}

func TestRequestsAreMeasuredByTheirDistances(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	at := func(monitor int64, ms int) Arrival {
		return Arrival{monitor, begin.Add(time.Duration(ms) * time.Millisecond).UnixNano()}
	}
	seen := []Arrival{at(1, 0), at(2, 300), at(1, 1100), at(2, 1250), at(1, 2050), at(3, 2100)}
	want := []time.Duration{100 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}
	if got := Uneven(seen, time.Second); !slices.Equal(got, want) {
		t.Errorf("unevenness: got %v, want %v", got, want)
	}
	if least, most := Seconds(append(seen, at(1, -1), at(2, 3500)), begin.Add(-time.Millisecond), begin.Add(4*time.Second+time.Millisecond)); least != 1 || most != 2 {
		t.Errorf("requests in a whole second: got %d to %d", least, most)
	}
	if least, most := Seconds(seen, begin, begin.Add(3*time.Second)); least != 2 || most != 2 {
		t.Errorf("requests in a second: got %d to %d", least, most)
	}
}
