package process

import (
	"encoding/json"
	"errors"
	"io"
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

// watchName is what the watch is started as. Nobody starts a program by it.
const watchName = "belfry-command-watch"

// Init must be the first thing that main does, or at a worker's sudden end only the processes of its commands end that it
// started itself: this program starts itself again to watch over them, and does not return from here in that copy.
func Init() {
	if len(os.Args) == 1 && os.Args[0] == watchName {
		// It ends after the worker, whatever asks both to end.
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
		keepWatch(os.Stdin)
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
	if err := w.start(); err != nil {
		return err
	}
	for _, m := range w.runs {
		if err := w.write(m); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) write(m watched) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_ = w.to.SetWriteDeadline(time.Now().Add(sayWait))
	_, err = w.to.Write(append(line, '\n'))
	return err
}

// start starts a watch in a session of its own: what stops all processes of a terminal does not stop this one. It holds
// no file of the worker's but the pipe.
func (w *watch) start() error {
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	w.copy, err = os.StartProcess("/proc/self/exe", []string{watchName}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{in}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = out.Close()
		return err
	}
	w.to = out
	return nil
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
// and by its group once it was; ended must be called while that number is still its own.
func watchOver(r *worker.Run, mark string) (started func(group int), ended func(), err error) {
	until, _ := r.Until()
	m := watched{Mark: mark, Until: instant(until)}
	if err := theWatch.say(m); err != nil {
		return func(int) {}, func() { _ = theWatch.say(watched{Mark: mark, Over: true}) }, err
	}
	over := make(chan struct{})
	var following sync.WaitGroup
	started = func(group int) {
		m.Group = group
		following.Go(func() { follow(r, m, over) })
	}
	ended = func() {
		close(over)
		following.Wait()
		_ = theWatch.say(watched{Mark: mark, Over: true})
	}
	return started, ended, nil
}

// follow passes on how long the session holds.
func follow(r *worker.Run, m watched, over <-chan struct{}) {
	for {
		until, later := r.Until()
		m.Until = instant(until)
		_ = theWatch.say(m) // one that cannot be told keeps the time that it has
		select {
		case <-later: // never, without a session
		case <-over:
			return
		}
	}
}

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
func keepWatch(from io.Reader) {
	lines := make(chan watched)
	go func() {
		defer close(lines)
		for decoder := json.NewDecoder(from); ; {
			var m watched
			if decoder.Decode(&m) != nil {
				return
			}
			lines <- m
		}
	}()
	runs := map[string]*guarded{}
	timer := time.NewTimer(time.Hour)
	for {
		select {
		case m, more := <-lines:
			if !more {
				for _, g := range runs {
					g.end(false)
				}
				return
			}
			hear(runs, m)
		case <-timer.C:
		}
		timer.Reset(endLate(runs))
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

// endLate ends what is over its time, and answers when to look again.
func endLate(runs map[string]*guarded) time.Duration {
	next := time.Hour
	for _, g := range runs {
		if g.Until == 0 {
			continue
		}
		left := time.Duration(g.Until - monotime.Now())
		if left <= 0 {
			g.end(true)
			g.pause = min(max(2*g.pause, firstPause), mostPause)
			left = g.pause
			g.Until = monotime.Now() + int64(left)
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
