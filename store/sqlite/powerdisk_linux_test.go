package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// disk is what a trace did to the files below a folder, and what the process
// acknowledged meanwhile. What is there after a power cut follows from it:
//
//   - A write is durable once a flush of its file has ended that began after the
//     write had. The same holds for the length of a file, and for names in a folder
//     and flushes of the folder.
//   - Other writes may be there, each sector of them or none, or as garbage.
//   - Other changes of names are there up to one of them, in their order.
//   - Bytes beside those that are written are not harmed, as SQLite assumes of disks
//     (SQLITE_IOCAP_POWERSAFE_OVERWRITE).
type disk struct {
	root   string
	places map[string]*place // by path; a folder stays, a file may be followed by another of its name
	acks   []ack
	last   int   // line of the trace
	points []int // around flushes and acknowledgements
}

// place is a folder, or a file with all that was written to it.
type place struct {
	folder bool
	writes []written
	names  []naming
	syncs  []span
}

type span struct{ begin, end int }

type written struct {
	span
	off  int64
	data []byte
	cut  bool // the file ends at off
}

type naming struct {
	span
	name string
	to   *place // nil: the name is gone
}

type ack struct {
	at   int
	what string // an object
	is   string // its state
}

func readDisk(root string, calls []call) (*disk, error) {
	d := &disk{root: root, places: map[string]*place{root: {folder: true}}}
	for _, c := range calls {
		d.last = max(d.last, c.end)
		if err := d.take(c); err != nil {
			return nil, fmt.Errorf("line %d of the trace, %s: %w", c.begin, c.name, err)
		}
	}
	return d, nil
}

func (d *disk) take(c call) error {
	at := span{c.begin, c.end}
	switch c.name {
	case "write", "pwrite64":
		data, err := unhex(c.args[1])
		if err != nil {
			return err
		}
		if c.name == "write" && strings.HasPrefix(c.args[0], "1<") {
			d.acknowledged(c.begin, string(data))
			return nil
		}
		p, err := d.opened(c.args[0])
		if p == nil || err != nil {
			return err
		}
		if c.name == "write" {
			return fmt.Errorf("writes without an offset are not understood: %s", c.args[0])
		}
		off, err := strconv.ParseInt(c.args[3], 0, 64)
		p.writes = append(p.writes, written{span: at, off: off, data: data[:c.result]})
		return err
	case "ftruncate":
		p, err := d.opened(c.args[0])
		if p == nil || err != nil {
			return err
		}
		size, err := strconv.ParseInt(c.args[1], 0, 64)
		p.writes = append(p.writes, written{span: at, off: size, cut: true})
		return err
	case "fsync", "fdatasync":
		p, err := d.opened(c.args[0])
		if p == nil || err != nil {
			return err
		}
		p.syncs = append(p.syncs, at)
		d.points = append(d.points, at.begin, at.end, at.end+1)
		return nil
	case "open", "openat":
		named := c.args
		if c.name == "openat" {
			named = c.args[1:]
		}
		path, flags := d.path(named[0]), named[1]
		if strings.Contains(flags, "O_TRUNC") && d.places[path] != nil {
			return fmt.Errorf("a file is emptied when it is opened, which is not understood: %s", path)
		}
		if strings.Contains(flags, "O_CREAT") {
			d.name(at, path, &place{})
		}
		return nil
	case "mkdir", "mkdirat":
		d.name(at, d.path(c.args[len(c.args)-2]), &place{folder: true})
		return nil
	case "unlink":
		d.unname(at, d.path(c.args[0]))
		return nil
	case "unlinkat":
		d.unname(at, d.path(c.args[1]))
		return nil
	}
	for _, a := range c.args {
		if strings.HasPrefix(d.path(a), d.root+"/") {
			return fmt.Errorf("this call is not understood: %v", c.args)
		}
	}
	return nil
}

func (d *disk) path(arg string) string {
	path, _ := unhex(arg)
	return string(path)
}

// opened is the place of a descriptor, and nil where it lies elsewhere or has no
// name any more.
func (d *disk) opened(arg string) (*place, error) {
	if strings.Contains(arg, "(deleted)") {
		return nil, nil
	}
	path := d.path(arg)
	p := d.places[path]
	if p == nil && strings.HasPrefix(path, d.root+"/") {
		return nil, fmt.Errorf("%s was not created", path)
	}
	return p, nil
}

func (d *disk) name(at span, path string, p *place) {
	folder := d.places[filepath.Dir(path)]
	if folder == nil || d.places[path] != nil {
		return
	}
	d.places[path] = p
	folder.names = append(folder.names, naming{at, filepath.Base(path), p})
}

func (d *disk) unname(at span, path string) {
	if d.places[path] != nil {
		delete(d.places, path)
		folder := d.places[filepath.Dir(path)]
		folder.names = append(folder.names, naming{at, filepath.Base(path), nil})
	}
}

func (d *disk) acknowledged(at int, text string) {
	for line := range strings.Lines(text) {
		if what, is, found := strings.Cut(strings.TrimSpace(line), " "); found {
			d.acks = append(d.acks, ack{at, what, is})
		}
	}
	d.points = append(d.points, at+1)
}

// cut is one end of the power: before a line of the trace, with what becomes of
// that which was not flushed. Lies are the ends of names whose flushes did nothing.
type cut struct {
	at   int
	rng  *rand.Rand
	lies []string
}

func (d *disk) cut(seed uint64, lies ...string) cut {
	c := cut{rng: rand.New(rand.NewPCG(seed, 23)), lies: lies}
	if c.rng.IntN(3) == 0 {
		c.at = 1 + c.rng.IntN(d.last+1)
	} else {
		c.at = d.points[c.rng.IntN(len(d.points))] + c.rng.IntN(3) - 1
	}
	return c
}

// durable reports whether something was flushed before the cut.
func (c cut) durable(s span, syncs []span) bool {
	return slices.ContainsFunc(syncs, func(sync span) bool { return sync.begin > s.end && sync.end < c.at })
}

// leave writes into a folder what the cut leaves of d.
func (c cut) leave(d *disk, folder string) error { return c.leaveFolder(d.places[d.root], folder) }

func (c cut) leaveFolder(p *place, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	syncs := p.syncs
	if slices.Contains(c.lies, "/") {
		syncs = nil
	}
	names, order, left := map[string]*place{}, []string{}, c.rng.IntN(2)*1000
	if c.rng.IntN(2) == 0 {
		left = c.rng.IntN(4)
	}
	for _, n := range p.names {
		if n.begin >= c.at {
			break
		}
		if !c.durable(n.span, syncs) {
			if left == 0 {
				break
			}
			left--
		}
		names[n.name] = n.to
		if !slices.Contains(order, n.name) {
			order = append(order, n.name)
		}
	}
	for _, name := range order {
		switch to := names[name]; {
		case to == nil:
		case to.folder:
			if err := c.leaveFolder(to, filepath.Join(folder, name)); err != nil {
				return err
			}
		default:
			if err := os.WriteFile(filepath.Join(folder, name), c.content(to, name), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// The ways in which writes end that were not flushed.
const (
	allLost = iota
	allThere
	someThere  // each or not
	firstThere // those before one of them, which is torn
	sectors    // each sector or not
	garbage    // each sector, not, or as garbage
	ways
)

func (c cut) content(p *place, name string) []byte {
	way, sector := c.rng.IntN(ways), 512
	if c.rng.IntN(2) == 0 {
		sector = 4096
	}
	syncs := p.syncs
	if slices.ContainsFunc(c.lies, func(end string) bool { return end != "/" && strings.HasSuffix(name, end) }) {
		syncs = nil
	}
	if strings.HasSuffix(name, "-shm") { // it is mapped, and never flushed
		shm := make([]byte, c.rng.IntN(2)*32768)
		for i := range shm {
			shm[i] = byte(c.rng.Uint32())
		}
		return shm
	}
	loose := 0
	for _, w := range p.writes {
		if w.begin < c.at && !c.durable(w.span, syncs) {
			loose++
		}
	}
	first := c.rng.IntN(loose + 1)
	var data []byte
	seen := 0
	for _, w := range p.writes {
		if w.begin >= c.at {
			break
		}
		if c.durable(w.span, syncs) {
			data = w.whole(data)
			continue
		}
		seen++
		switch {
		case way == allThere, way == firstThere && seen <= first, way == someThere && c.rng.IntN(2) == 0:
			data = w.whole(data)
		case w.cut && way >= sectors && c.rng.IntN(2) == 0:
			data = w.whole(data)
		case !w.cut && (way >= sectors || way == firstThere && seen == first+1):
			data = w.torn(data, sector, c.rng, way == garbage)
		}
	}
	return data
}

func (w written) whole(data []byte) []byte {
	end := w.off + int64(len(w.data))
	if w.cut && int64(len(data)) > w.off {
		return data[:w.off:w.off]
	}
	if grow := end - int64(len(data)); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[w.off:], w.data)
	return data
}

// torn keeps some sectors of a write.
func (w written) torn(data []byte, sector int, rng *rand.Rand, garbage bool) []byte {
	for from := 0; from < len(w.data); {
		to := min(len(w.data), from+sector-int(w.off+int64(from))%sector)
		part := written{off: w.off + int64(from), data: w.data[from:to]}
		switch rng.IntN(4) {
		case 0, 1:
			data = part.whole(data)
		case 2:
			if garbage {
				part.data = make([]byte, to-from)
				for i := range part.data {
					part.data[i] = byte(rng.Uint32())
				}
				data = part.whole(data)
			}
		}
		from = to
	}
	return data
}
