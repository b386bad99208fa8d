package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/internal/monotime"
	"github.com/belfry-run/belfry/worker"
)

// A worker that hangs or is killed cannot end its commands. So it starts a watch: a copy of its program that knows for each
// running command until when the worker's session is valid. The watch kills a command after that time. It kills all commands
// when the worker is gone, which closes the pipe between them.

// watchName is the argument zero of the watch. No user starts a program with it.
const watchName = "belfry-command-watch"

// Init must be called first in main: the worker starts its own program again as watch, and in that copy Init does not return.
// Without Init, the sudden end of a worker ends only the programs that it started itself, not their children.
func Init() {
	if len(os.Args) == 1 && os.Args[0] == watchName {
		// The watch ends after the worker, also if a signal asks both to end.
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
		runWatch(int(os.Stdin.Fd()))
		os.Exit(0)
	}
	theWatch.able = true
}

// message is a message of the worker about a command, in one line.
type message struct {
	Mark  string `json:"mark"`            // identifies the command
	Group int    `json:"group,omitempty"` // process group, once started
	Until int64  `json:"until,omitempty"` // end of the session, by [monotime.Now]; 0: as long as the worker lives
	Over  bool   `json:"over,omitempty"`  // the command has ended
}

// theWatch is shared by all workers of this process.
var theWatch watch

// watch is the worker's side of the pipe to the watch process.
type watch struct {
	able bool // [Init] was called

	mu   sync.Mutex
	copy *os.Process
	to   *os.File
	runs map[string]message
}

// sayWait is the time limit to write a line to a full pipe.
const sayWait = time.Second

// send sends a message to the watch. If the watch has died, it starts a new one.
func (w *watch) send(m message) error {
	if !w.able {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]message{}
	}
	w.runs[m.Mark] = m
	if m.Over {
		delete(w.runs, m.Mark)
		if w.to == nil {
			return nil
		}
	}
	if w.to != nil && w.write(m) == nil {
		return nil
	}
	w.close()
	return w.start()
}

func (w *watch) write(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return write(w.to, append(line, '\n'))
}

func write(to *os.File, b []byte) error {
	_ = to.SetWriteDeadline(time.Now().Add(sayWait))
	_, err := to.Write(b)
	return err
}

// pipeHolds is the minimum capacity of a pipe: one page, in bytes.
const pipeHolds = 4096

// start starts a watch in a session of its own, so that signals of a terminal do not stop it. Of the worker's files it
// inherits only the pipe. Messages are in the pipe before the start, as far as they fit: otherwise a worker that is stopped
// right after the start would leave a watch that knows no commands.
func (w *watch) start() error {
	var lines []byte
	for _, m := range w.runs {
		line, err := json.Marshal(m)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	first := min(len(lines), pipeHolds)
	if err := write(out, lines[:first]); err != nil {
		_ = out.Close()
		return err
	}
	w.copy, err = os.StartProcess("/proc/self/exe", []string{watchName}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{in}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = out.Close()
		return err
	}
	w.to = out
	return write(out, lines[first:])
}

// close kills a watch that does not read, before its pipe is closed: the closed pipe would make it kill all commands.
func (w *watch) close() {
	if w.to == nil {
		return
	}
	_ = w.copy.Kill()
	_, _ = w.copy.Wait()
	_ = w.to.Close()
	w.to = nil
}

// watchOver makes the watch kill a command at the end of the worker's session. Before its start, the command is identified by
// its mark, afterwards also by its group. ended must be called before that number can be reused. It reports whether the watch
// learned of a renewal too late: only then may it have killed a command of a live session.
func watchOver(r *worker.Run, mark string) (started func(group int), ended func() (late bool), err error) {
	until, _ := r.Until()
	m := message{Mark: mark, Until: instant(until)}
	if err := theWatch.send(m); err != nil {
		return func(int) {}, func() bool { _ = theWatch.send(message{Mark: mark, Over: true}); return false }, err
	}
	f := deadlineSender{said: m, over: make(chan struct{})}
	var following sync.WaitGroup
	started = func(group int) {
		f.said.Group = group
		following.Go(func() { f.follow(r.Until) })
	}
	ended = func() bool {
		close(f.over)
		following.Wait()
		_ = theWatch.send(message{Mark: mark, Over: true})
		return f.late || f.hasPassed()
	}
	return started, ended, nil
}

// deadlineSender tells the watch until when the session is valid.
type deadlineSender struct {
	said message // last message to the watch
	late bool    // a time passed before the watch learned of a later one
	over chan struct{}
}

func (f *deadlineSender) follow(session func() (until time.Time, later <-chan struct{})) {
	for {
		until, later := session()
		m := f.said
		m.Until = instant(until)
		_ = theWatch.send(m) // after an error, the watch keeps the time that it has
		f.late = f.late || f.hasPassed()
		f.said = m
		select {
		case <-later: // nil without a session
		case <-f.over:
			return
		}
	}
}

// hasPassed reports whether the watch may have killed the command, by the last time that it was told.
func (f *deadlineSender) hasPassed() bool { return f.said.Until != 0 && monotime.Now() >= f.said.Until }

func instant(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return monotime.At(t)
}

// watchedGroup is a command in the watch.
type watchedGroup struct {
	message
	pidfd int           // of the leader of its group, or -1
	pause time.Duration // after its time: until the next search for its processes
}

// firstPause is the first pause between searches for processes of a killed command, and mostPause the longest one.
// Searches go on until the worker reports the end of the command.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = time.Minute
)

// runWatch runs the watch. It returns when the worker and its commands are gone.
//
// A time counts as over only if the pipe is empty: messages that were written in time must count even if this process runs
// late. Otherwise it could kill a command of a live session.
func runWatch(from int) {
	runs := map[string]*watchedGroup{}
	var unread []byte
	for {
		now := monotime.Now()
		if !readable(from, 0) {
			readable(from, endLate(runs, now))
			continue
		}
		var piece [pipeHolds]byte
		n, err := unix.Read(from, piece[:])
		switch {
		case errors.Is(err, unix.EINTR):
		case n <= 0:
			for _, g := range runs {
				g.end(false)
			}
			return
		default:
			unread = applyMessages(runs, append(unread, piece[:n]...))
		}
	}
}

// readable waits until there is data, the end of the pipe, or the time has passed. Interruptions by signals are
// ignored.
func readable(from int, wait time.Duration) bool {
	left := unix.NsecToTimespec(int64(wait))
	n, _ := unix.Ppoll([]unix.PollFd{{Fd: int32(from), Events: unix.POLLIN}}, &left, nil)
	return n > 0
}

// applyMessages handles complete lines, and returns the rest.
func applyMessages(runs map[string]*watchedGroup, text []byte) []byte {
	for {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			return text
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			applyMessage(runs, m)
		}
		text = rest
	}
}

func applyMessage(runs map[string]*watchedGroup, m message) {
	g := runs[m.Mark]
	if g == nil {
		g = &watchedGroup{pidfd: -1}
		runs[m.Mark] = g
	}
	switch {
	case m.Over:
		_ = unix.Close(g.pidfd)
		delete(runs, m.Mark)
		return
	case g.pause > 0:
		m.Until = g.Until // no renewal comes after it
	}
	if m.Group > 0 && g.pidfd < 0 {
		g.pidfd, _ = unix.PidfdOpen(m.Group, 0)
	}
	g.message = m
}

// endLate kills the commands whose time is over, and returns when to look again.
func endLate(runs map[string]*watchedGroup, now int64) time.Duration {
	next := time.Hour
	for _, g := range runs {
		if g.Until == 0 {
			continue
		}
		left := time.Duration(g.Until - now)
		if left <= 0 {
			g.end(true)
			g.pause = min(max(2*g.pause, firstPause), mostPause)
			left = g.pause
			g.Until = now + int64(left)
		}
		next = min(next, left)
	}
	return next
}

// signalGroup makes pidfd_send_signal signal the process group (Linux 6.9), which cannot be a reused number.
const signalGroup = 4

// end kills all processes of a command. While the worker lives and has not waited for the command, its number is not reused.
func (g *watchedGroup) end(worker bool) {
	err := unix.PidfdSendSignal(g.pidfd, unix.SIGKILL, nil, signalGroup)
	if worker && g.Group > 0 && err != nil && !errors.Is(err, unix.ESRCH) {
		_ = unix.Kill(-g.Group, unix.SIGKILL)
	}
	killMarked(g.Mark)
}
