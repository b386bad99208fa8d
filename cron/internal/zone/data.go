package zone

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/wall"
)

// Data is cron.ZoneData.
type Data struct {
	Digest string
	TZif   []byte
}

// The years that are handed on. Rules look forward, and backfills reach back.
var (
	dataFrom = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	dataTo   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// DataOf is the data of the zone that [Load] answers for a name.
func DataOf(name string) (Data, error) {
	loc, err := Load(name)
	if err != nil {
		return Data{}, err
	}
	return dataOf(loc), nil
}

// localTime is a local time type of RFC 8536.
type localTime struct {
	off  int64
	dst  bool
	name string
}

func dataOf(loc *time.Location) Data {
	var times []int64
	var kinds []localTime
	at := func(u int64) localTime {
		t := time.Unix(u, 0).In(loc)
		name, off := t.Zone()
		return localTime{int64(off), t.IsDST(), name}
	}
	sum := sha256.New()
	put := func(n int64) { _ = binary.Write(sum, binary.BigEndian, n) }
	first := at(dataFrom)
	put(first.off)
	last := first
	for u := dataFrom; ; {
		s := wall.SpanAt(loc, u)
		if s.End == civil.None || s.End >= dataTo {
			break
		}
		u = s.End // later than before, which wall.SpanAt sees to
		now := at(u)
		if now == last {
			continue
		}
		if now.off != last.off {
			put(u)
			put(now.off)
		}
		times, kinds, last = append(times, u), append(kinds, now), now
	}
	return Data{hex.EncodeToString(sum.Sum(nil)), encodeTZif(first, times, kinds)}
}

// encodeTZif writes version 2 of RFC 8536, with an empty block of version 1 and an empty rule for what comes after. The
// first type stands for the time before the first change and for nothing else: readers then take it for that.
func encodeTZif(first localTime, times []int64, kinds []localTime) []byte {
	types := []localTime{first}
	places := make([]byte, len(kinds))
	for i, k := range kinds {
		p := slices.Index(types[1:], k)
		if p < 0 {
			p = len(types) - 1
			types = append(types, k)
		}
		places[i] = byte(p + 1)
	}
	var names []byte
	starts := map[string]byte{}
	for _, t := range types {
		if _, ok := starts[t.name]; !ok {
			starts[t.name] = byte(len(names))
			names = append(append(names, t.name...), 0)
		}
	}
	var out bytes.Buffer
	header := func(counts ...uint32) {
		out.WriteString("TZif2")
		out.Write(make([]byte, 15))
		_ = binary.Write(&out, binary.BigEndian, counts)
	}
	header(0, 0, 0, 0, 0, 0)
	header(0, 0, 0, uint32(len(times)), uint32(len(types)), uint32(len(names)))
	_ = binary.Write(&out, binary.BigEndian, times)
	out.Write(places)
	for _, t := range types {
		_ = binary.Write(&out, binary.BigEndian, int32(t.off))
		out.WriteByte(map[bool]byte{true: 1}[t.dst])
		out.WriteByte(starts[t.name])
	}
	out.Write(names)
	out.WriteString("\n\n")
	return out.Bytes()
}

// Adopt makes [Load] answer data that came from elsewhere for a name.
func Adopt(name string, tzif []byte) error {
	loc, err := time.LoadLocationFromTZData(name, tzif)
	if err != nil {
		return Refuse(name, "has data that cannot be read: "+err.Error(), "")
	}
	if _, known := loaded.Swap(name, loc); !known {
		loads.Add(1)
	}
	changes.Add(1)
	return nil
}

var changes atomic.Int64

// Changes counts how often a zone was replaced in this process.
func Changes() int64 { return changes.Load() }

var loads atomic.Int64

// Loads counts the names that [Loaded] lists.
func Loads() int64 { return loads.Load() }

// Loaded are the names that [Load] has answered in this process, sorted, without UTC.
func Loaded() []string {
	names := map[string]bool{}
	loaded.Range(func(name, _ any) bool {
		names[name.(string)] = true
		return true
	})
	return slices.Sorted(maps.Keys(names))
}

var aRelease = regexp.MustCompile(`^20\d\d[a-z]{1,2}$`)

// Release is the release of the data that [Load] reads, or "" where its source does not say.
func Release() string {
	text := ""
	if own := os.Getenv("ZONEINFO"); own != "" {
		text = release(own)
	} else if dir := systemDir(); dir != "" {
		text = release(dir)
	} else if strings.HasPrefix(runtime.Version(), "go1.26") {
		text = embeddedRelease
	}
	if !aRelease.MatchString(text) {
		return ""
	}
	return text
}
