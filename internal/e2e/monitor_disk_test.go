//go:build linux

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// The disk of the database is full while checks run. Their results cannot be recorded,
// which does not count against the monitors, and the checks continue afterwards.
func TestAFullDiskMarksNoMonitorDown(t *testing.T) {
	t.Parallel()
	disk, why := pgtest.SmallDisk(t, "64m")
	if why != "" {
		t.Fatal(why + ": run the tests as root, as make test does, or allow sudo -n mount and umount")
	}
	s := newSite(t, "sqlite:"+filepath.Join(disk, "belfry.db"))
	s.env = []string{"BELFRY_TOKEN_FILE=" + s.tokenFile()}
	w, hook := newTown(t, 5), newPager(t)
	n := s.serve("--allow-addresses", "loopback", "--session-ttl", "2s", "--database", s.database)
	w.watch(s, 20, "1s", hook.URL)
	s.write("beat.yaml", beatYAML)
	s.run("apply", "-f", "beat.yaml")
	caller := calling(t, n.url+must[view.MonitorView](t)(n.api.Monitor(t.Context(), "default", "beat")).Beat)
	up := func(m view.MonitorView) bool { return m.Status == monitor.StatusUp }
	allAre(t, n.api, "is up", up)
	filler := filepath.Join(disk, "ballast")
	pgtest.FillDisk(t, filler)
	caller.refusedForLong(t, func() { pgtest.FillDisk(t, filler) }) // fills the space that the database has released
	eventually(t, patience, "the node does not say that the disk is full", func() (bool, string) {
		pgtest.FillDisk(t, filler)
		a := get(t, n.url+"/readyz", "")
		return a.StatusCode == http.StatusServiceUnavailable && strings.Contains(a.Body, "its disk is full"), a.Body
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	readyWithin(t, n.url, patience, http.StatusOK)
	room := time.Now()
	allAre(t, n.api, "goes on", func(m view.MonitorView) bool { return up(m) && m.State.LastGoodAt.After(room) })
	nobodyWasDown(t, n.api, hook)
	if !n.running() {
		t.Error("the node has ended")
	}
}
