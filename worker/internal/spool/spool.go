// Package spool keeps results of programs on disk until the broker knows them.
package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/home"
	"github.com/belfry-run/belfry/job"
)

// Spool keeps on disk what came of programs until the broker knows it, so that
// a worker which is killed or loses its power says it when it is back: the
// result, or that there was none. Other kinds do not need it, because what is
// not reported is found out when the session ends.
//
// Whether that still counts is the broker's to say: under a lease that was
// lost it is discarded.
type Spool struct {
	own *home.Home

	mu   sync.Mutex
	left []Note
	dirs []*home.Home // to be let go of when everything of theirs is delivered
}

// Note is one result under way.
type Note struct {
	Session string     `json:"session"`
	Since   time.Time  `json:"since"`
	Finish  job.Finish `json:"finish"`

	file string
}

// Answered is called once the result has been answered or given up.
func (n Note) Answered() { _ = removed(n.file) }

// Died is what a worker that comes back says of an attempt without a result.
const Died = "its worker ended in the middle of it, by a crash or for want of power"

// Open opens the spool of this process in a folder that processes of one
// machine share, and reads what those left that have ended.
func Open(dir string) (*Spool, error) {
	own, left, err := home.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s := &Spool{own: own, dirs: left}
	for _, h := range left {
		s.read(h.Dir)
	}
	return s, nil
}

// Dir is the folder of this process.
func (s *Spool) Dir() string { return s.own.Dir }

// read takes up what an ended process left. A result that cannot be read was not
// written in full, and is worth as much as nothing.
func (s *Spool) read(dir string) {
	torn, _ := filepath.Glob(filepath.Join(dir, "*"+unfinished))
	for _, file := range torn {
		_ = os.Remove(file)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, file := range files {
		var n Note
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, &n) != nil || n.Session == "" {
			_ = os.Remove(file)
			continue
		}
		n.file = file
		s.left = append(s.left, n)
	}
}

// TakeLeft gives what ended processes left, once.
func (s *Spool) TakeLeft() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left
	s.left = nil
	return left
}

// Begin notes an attempt that starts, so long after its claim arrived. It is
// lost unless a result takes the note's place: a task that must not start
// again after that is not to learn of an error instead, which is retried.
func (s *Spool) Begin(session string, ref job.Ref, startedIn time.Duration) error {
	return s.Keep(session, job.Finish{Ref: ref, Outcome: job.OutcomeLost, Error: Died, StartedIn: core.Duration(max(startedIn, 1))})
}

// Keep notes a result, in the place of what was noted before.
func (s *Spool) Keep(session string, f job.Finish) error {
	text, err := json.Marshal(Note{Session: session, Since: time.Now(), Finish: f})
	if err != nil {
		return err
	}
	file := s.path(f.Ref)
	if err := writeSynced(file+unfinished, text); err != nil {
		return err
	}
	return os.Rename(file+unfinished, file)
}

// unfinished ends the names of notes that are being written.
const unfinished = ".new"

func writeSynced(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func (s *Spool) path(ref job.Ref) string {
	return filepath.Join(s.own.Dir, fmt.Sprintf("%d-%d.json", ref.JobID, ref.Lease))
}

// Forget is for what the broker knows, or does not want to know.
func (s *Spool) Forget(ref job.Ref) error { return removed(s.path(ref)) }

func removed(file string) error {
	err := os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Close lets go of the folder. Undelivered results stay for the next
// process.
func (s *Spool) Close() error {
	err := s.own.Close()
	for _, h := range s.dirs {
		err = errors.Join(err, h.Close())
	}
	return err
}
