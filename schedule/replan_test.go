package schedule

import (
	"testing"
)

func TestWhichZoneDataHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stored, own ZoneVersion
		starting    bool
		want        ZoneStep
	}{
		"the same data":                           {ZoneVersion{"a", "2026b"}, ZoneVersion{"a", "2025c"}, true, ZoneKept},
		"a newer release at start":                {ZoneVersion{"a", "2025c"}, ZoneVersion{"b", "2026b"}, true, ZoneInstalled},
		"a newer release that was not seen yet":   {ZoneVersion{"a", "2025c"}, ZoneVersion{"b", "2026b"}, false, ZoneInstalled},
		"an older release at start":               {ZoneVersion{"a", "2026b"}, ZoneVersion{"b", "2025c"}, true, ZoneAdopted},
		"an older release, later":                 {ZoneVersion{"a", "2026b"}, ZoneVersion{"b", "2025c"}, false, ZoneAdopted},
		"a zone this machine does not know":       {ZoneVersion{"a", "2026b"}, ZoneVersion{"", "2027a"}, true, ZoneAdopted},
		"a folder of its own at start":            {ZoneVersion{"a", "2026b"}, ZoneVersion{"b", ""}, true, ZoneInstalled},
		"a folder of its own beside a later node": {ZoneVersion{"a", "2026b"}, ZoneVersion{"b", ""}, false, ZoneAdopted},
		"one release, packaged otherwise":         {ZoneVersion{"a", "2026b"}, ZoneVersion{"b", "2026b"}, true, ZoneInstalled},
		"one release, another node started later": {ZoneVersion{"a", "2026b"}, ZoneVersion{"b", "2026b"}, false, ZoneAdopted},
	} {
		if got := FollowZone(c.stored, c.own, c.starting); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
