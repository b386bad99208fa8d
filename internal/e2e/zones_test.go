package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/schedule"
)

// A government moves a zone by an hour. A node with the new data starts alone, or beside a node with the old data.
func TestNewZoneDataMovesSchedulesOnEveryNode(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		zoneinfo := func(hours, release string) string {
			dir := filepath.Join(s.dir, release)
			if err := os.MkdirAll(filepath.Join(dir, "Test"), 0o700); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile("/usr/share/zoneinfo/Etc/" + hours)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string][]byte{"Test/Zone": data, "version": []byte(release + "\n")} {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return "ZONEINFO=" + dir
		}
		old, moved := zoneinfo("GMT-2", "2025c"), zoneinfo("GMT-3", "2026b")
		next := func(n *node) time.Time {
			return must[schedule.Schedule](t)(n.api.Schedule(t.Context(), "default", "gov")).NextAt
		}
		s.env = []string{old}
		n := s.serve()
		n.shellTask("t", "echo ran")
		made := must[schedule.Schedule](t)(n.api.CreateSchedule(t.Context(), schedule.Schedule{Name: "gov", Task: "t", Zone: "Test/Zone", Rules: []schedule.Rule{{Cron: "0 12 1 1 *"}}}))
		s.env = []string{moved}
		if s.postgres() {
			other := s.serve()
			eventually(t, patience, "the older node says that it is", func() (bool, string) {
				h, err := n.api.Health(t.Context())
				return err == nil && len(h.Zones.Adopted) == 1 && h.Zones.Adopted[0] == "Test/Zone", h.Zones.Data
			})
			s.server = n.url
			if said := s.try("doctor"); !strings.Contains(said.stdout, "older than another node's, which are used instead: Test/Zone") {
				t.Errorf("output of doctor: got %s", said.stdout)
			}
			n = other
		} else {
			n.signal(syscall.SIGTERM)
			n.ended(patience)
			n = s.serve()
		}
		want := made.NextAt.Add(-time.Hour)
		eventually(t, patience, "the next time moves", func() (bool, string) {
			at := next(n)
			return at.Equal(want), at.String()
		})
		if again := must[schedule.Schedule](t)(n.api.UpdateSchedule(t.Context(), schedule.Schedule{Name: "gov", Task: "t", Zone: "Test/Zone", Rules: []schedule.Rule{{Cron: "0 12 1 1 *"}}, Description: "edited"})); !again.NextAt.Equal(want) {
			t.Errorf("next time after the edit: got %s", again.NextAt)
		}
	})
}
