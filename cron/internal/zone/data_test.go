package zone

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// What is handed on must show the same clock as what it was made of, at every change and around it.
func TestZoneDataShowsTheSameClock(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		loc, err := time.LoadLocation(name)
		if err != nil {
			continue // this machine's data does not have it
		}
		data := dataOf(loc)
		got, err := time.LoadLocationFromTZData(name, data.TZif)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		look := func(u int64) {
			a, b := time.Unix(u, 0).In(loc), time.Unix(u, 0).In(got)
			if a.Format(time.RFC3339+" MST") != b.Format(time.RFC3339+" MST") || a.IsDST() != b.IsDST() {
				t.Fatalf("%s: %s became %s", name, a, b)
			}
		}
		for u := dataFrom; u < dataTo; {
			s := wall.SpanAt(loc, u)
			look(u)
			if s.End == civil.None || s.End >= dataTo {
				break
			}
			look(s.End - 1)
			look((u + s.End) / 2)
			u = s.End
		}
		if again := dataOf(got); again.Digest != data.Digest {
			t.Errorf("%s: handed on once more it has another digest", name)
		}
	}
}

func TestDigestsTellZonesApart(t *testing.T) {
	t.Parallel()
	sofia, err := DataOf("Europe/Sofia")
	if err != nil {
		t.Fatal(err)
	}
	athens, err := DataOf("Europe/Athens") // the same rules now, others before 1997
	if err != nil {
		t.Fatal(err)
	}
	kyiv, _ := DataOf("Europe/Kyiv")
	kiev, err := DataOf("Europe/Kiev") // another name for it
	if err != nil {
		t.Fatal(err)
	}
	if sofia.Digest == athens.Digest || kyiv.Digest != kiev.Digest {
		t.Error(sofia.Digest, athens.Digest, kyiv.Digest, kiev.Digest)
	}
	if _, err := DataOf("Europe/Sofija"); err == nil {
		t.Error("a zone that is not there has data")
	}
}

func TestReleaseOfAFolder(t *testing.T) {
	for text, want := range map[string]string{"# version 2026b\n": "2026b", "# version unknown\n": "", "": ""} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "tzdata.zi"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("ZONEINFO", dir)
		if got := Release(); got != want {
			t.Errorf("%q: release %q", text, got)
		}
	}
}

func TestAnAdoptedZoneIsAnsweredFromThenOn(t *testing.T) {
	t.Parallel()
	const name = "Etc/GMT-13" // which no other test uses
	if _, err := Load(name); err != nil {
		t.Fatal(err)
	}
	before := Changes()
	moved, err := DataOf("Etc/GMT-14")
	if err != nil {
		t.Fatal(err)
	}
	if err := Adopt(name, moved.TZif); err != nil {
		t.Fatal(err)
	}
	loc, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, off := time.Unix(0, 0).In(loc).Zone(); off != 14*3600 || Changes() == before {
		t.Error(off, Changes())
	}
	if err := Adopt(name, []byte("no such thing")); err == nil {
		t.Error("rubbish was adopted")
	}
}
