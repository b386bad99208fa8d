// Command belfry runs things on time: a server, its workers, and the verbs
// that talk to them.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/app/worker/process"
	"github.com/belfry-run/belfry/app/worker/program"
)

func main() {
	// First of all: in copies that run programs or watch over commands these do not return.
	program.Init()
	process.Init()
	runAsFirst()
	// Belfry logs with slog. Here net/http complains about peers, once for each
	// frame that it does not know: one of them could fill the disk.
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endings(signal.Ignored)...)
	go heed(signals, cancel, os.Exit)
	os.Exit(Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// endings are the signals that end everything in order. A terminal that is closed sends SIGHUP, which nohup has ignored.
func endings(ignored func(os.Signal) bool) []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// echo is how soon after the first signal another one says nothing new. A sender that
// signals a process and then its group, as timeout does, sends each one twice.
const echo = 250 * time.Millisecond

// heed ends the process in order at the first signal, and at once at the second,
// for a person who does not want to wait.
func heed(signals <-chan os.Signal, end func(), exit func(code int)) {
	<-signals
	end()
	for first := time.Now(); ; {
		if again := <-signals; time.Since(first) > echo {
			exit(128 + int(again.(syscall.Signal)))
			return
		}
	}
}
