//go:build unix

package clients

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestVisitorsLeaveFilesToTheNode(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = 1000
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	for most, want := range map[int]int{1: 1, 749: 749, 750: 750, 751: 750, 10_000: 750} {
		if got := Fit(most); got != want {
			t.Errorf("of %d clients %d fit, want %d", most, got, want)
		}
	}
}
