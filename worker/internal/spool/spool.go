// Package spool keeps results of programs on disk until the server has them.
// [Spool] is a folder that one worker locks while it lives. The next worker on
// the machine reports what a dead one left there. A note that was written only
// in part is ignored.
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

// Spool keeps results of programs on disk until the server has them. So a worker
// that was killed or lost its power reports after its restart: the result, or
// that there was none. Other kinds need no spool, because the end of the session
// reveals what was not reported.
//
// The server decides whether such a result counts: it discards a result under a
// lost lease.
type Spool struct {
	own *home.Home

	mu   sync.Mutex
	left []Note
	dirs []*home.Home // of ended processes, released when all their results are delivered
}

// Note is one result of an ended process.
type Note struct {
	Session string     `json:"session"`
	Since   time.Time  `json:"since"`
	Finish  job.Finish `json:"finish"`

	file string
}

// Answered is called once, when the result was answered or given up.
func (n Note) Answered() { _ = removed(n.file) }

// Died is the error of an attempt that a crashed worker left without a result.
const Died = "its worker ended in the middle of it, by a crash or for want of power"

// Open opens the spool of this process in a folder that processes of one machine
// share, and reads the notes of ended processes.
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

// Dir returns the folder of this process.
func (s *Spool) Dir() string { return s.own.Dir }

// read reads the notes of an ended process. A result that cannot be read was not
// written in full and is ignored.
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

// TakeLeft returns the notes of ended processes, each once.
func (s *Spool) TakeLeft() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left
	s.left = nil
	return left
}

// Begin notes the start of an attempt, startedIn after its claim arrived. Unless
// a result replaces the note, the attempt counts as lost and not as failed: a
// failure would be retried even if the task must not start again after a loss.
func (s *Spool) Begin(session string, ref job.Ref, startedIn time.Duration) error {
	return s.Keep(session, job.Finish{Ref: ref, Outcome: job.OutcomeLost, Error: Died, StartedIn: core.Duration(max(startedIn, 1))})
}

// Keep replaces the note of an attempt by its result.
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

// Forget removes the note of an attempt whose result the server has answered.
func (s *Spool) Forget(ref job.Ref) error { return removed(s.path(ref)) }

func removed(file string) error {
	err := os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Close releases the folder. Undelivered results stay for the next process.
func (s *Spool) Close() error {
	err := s.own.Close()
	for _, h := range s.dirs {
		err = errors.Join(err, h.Close())
	}
	return err
}
