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

// A worker that hangs or is killed ends nothing. So there is a watch beside it: a copy of its program that knows, of each
// command that runs, until when the worker's session holds. It ends a command whose time is over, and all of them when
// the worker is gone, which closes the pipe between them.

// watchName is what the watch is started as. No person starts a program by it.
const watchName = "belfry-command-watch"

// Init must be the first thing that main does, or at a worker's sudden end only the processes of its commands end that it
// started itself: this program starts itself again to watch over them, and does not return from here in that copy.
func Init() {
	if len(os.Args) == 1 && os.Args[0] == watchName {
		// It ends after the worker, whatever asks both to end.
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
		keepWatch(int(os.Stdin.Fd()))
		os.Exit(0)
	}
	theWatch.able = true
}

// watched is what the worker says of a command, in one line.
type watched struct {
	Mark  string `json:"mark"`            // which it is
	Group int    `json:"group,omitempty"` // of processes, once it has one
	Until int64  `json:"until,omitempty"` // by [monotime.Now]; 0: as long as the worker lives
	Over  bool   `json:"over,omitempty"`  // it has ended
}

// theWatch is one for all workers of this process.
var theWatch watch

// watch is the worker's end of the pipe.
type watch struct {
	able bool // [Init] was called

	mu   sync.Mutex
	copy *os.Process
	to   *os.File
	runs map[string]watched
}

// sayWait is how long the watch may take to read a line, when it has not read many before.
const sayWait = time.Second

// say tells the watch, and a new one if that has died.
func (w *watch) say(m watched) error {
	if !w.able {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]watched{}
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
	w.dismiss()
	return w.start()
}

func (w *watch) write(m watched) error {
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

// pipeHolds is what a pipe takes without a reader, at the least: a page.
const pipeHolds = 4096

// start starts a watch in a session of its own: a signal to all processes of a terminal does not stop this one. It holds
// no file of the worker's but the pipe. As much as fits is in the pipe before: a worker that is stopped just when its watch has
// begun would leave one behind that knows of no command.
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

// dismiss ends a watch that does not listen, before its pipe is closed, which would have it end all commands.
func (w *watch) dismiss() {
	if w.to == nil {
		return
	}
	_ = w.copy.Kill()
	_, _ = w.copy.Wait()
	_ = w.to.Close()
	w.to = nil
}

// watchOver has the watch end a command with the worker's session. The command is named by its mark before it is started,
// and by its group once it was; ended must be called while that number is still its own. It reports whether a time had
// passed before the watch was told of a later one: only then may the watch have ended a command whose session holds.
func watchOver(r *worker.Run, mark string) (started func(group int), ended func() (late bool), err error) {
	until, _ := r.Until()
	m := watched{Mark: mark, Until: instant(until)}
	if err := theWatch.say(m); err != nil {
		return func(int) {}, func() bool { _ = theWatch.say(watched{Mark: mark, Over: true}); return false }, err
	}
	f := follower{said: m, over: make(chan struct{})}
	var following sync.WaitGroup
	started = func(group int) {
		f.said.Group = group
		following.Go(func() { f.follow(r.Until) })
	}
	ended = func() bool {
		close(f.over)
		following.Wait()
		_ = theWatch.say(watched{Mark: mark, Over: true})
		return f.late || f.hasPassed()
	}
	return started, ended, nil
}

// follower tells the watch how long the session holds.
type follower struct {
	said watched // last, to the watch
	late bool    // it was not told of a later time before this one
	over chan struct{}
}

func (f *follower) follow(session func() (until time.Time, later <-chan struct{})) {
	for {
		until, later := session()
		m := f.said
		m.Until = instant(until)
		_ = theWatch.say(m) // one that cannot be told keeps the time that it has
		f.late = f.late || f.hasPassed()
		f.said = m
		select {
		case <-later: // never, without a session
		case <-f.over:
			return
		}
	}
}

// hasPassed reports that the watch may have ended the command, if it knows no more than it was told last.
func (f *follower) hasPassed() bool { return f.said.Until != 0 && monotime.Now() >= f.said.Until }

func instant(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return monotime.At(t)
}

// guarded is a command as the watch sees it.
type guarded struct {
	watched
	pidfd int           // of the first of its group, or -1
	pause time.Duration // since its time was over: until it is looked for again
}

// firstPause is how soon a command that was ended is looked for again, and mostPause how soon at last, as long as
// the worker does not say that it is over.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = time.Minute
)

// keepWatch is the watch. It returns when the worker is gone, and its commands with it.
//
// A time is over only once nothing more is to be read: what was written before it has to count, however late this process
// gets to run, or a command would end whose session holds.
func keepWatch(from int) {
	runs := map[string]*guarded{}
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
			unread = hearAll(runs, append(unread, piece[:n]...))
		}
	}
}

// readable waits until there is something to read, or the end, or the time has passed. The interruption by a signal is taken
// for nothing.
func readable(from int, wait time.Duration) bool {
	left := unix.NsecToTimespec(int64(wait))
	n, _ := unix.Ppoll([]unix.PollFd{{Fd: int32(from), Events: unix.POLLIN}}, &left, nil)
	return n > 0
}

// hearAll takes whole lines, and gives back what is left.
func hearAll(runs map[string]*guarded, text []byte) []byte {
	for {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			return text
		}
		var m watched
		if json.Unmarshal(line, &m) == nil {
			hear(runs, m)
		}
		text = rest
	}
}

func hear(runs map[string]*guarded, m watched) {
	g := runs[m.Mark]
	if g == nil {
		g = &guarded{pidfd: -1}
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
	g.watched = m
}

// endLate ends what is over its time at now, and answers when to look again.
func endLate(runs map[string]*guarded, now int64) time.Duration {
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

// signalGroup has pidfd_send_signal reach the process group (Linux 6.9), which cannot mean another one by then.
const signalGroup = 4

// end kills all of a command. While the worker is there it has not waited for the command, whose number is its own then.
func (g *guarded) end(worker bool) {
	err := unix.PidfdSendSignal(g.pidfd, unix.SIGKILL, nil, signalGroup)
	if worker && g.Group > 0 && err != nil && !errors.Is(err, unix.ESRCH) {
		_ = unix.Kill(-g.Group, unix.SIGKILL)
	}
	killMarked(g.Mark)
}
