// Command belfry runs things on time: a server, its workers, and the verbs
// that talk to them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/belfry-run/belfry/worker/program"
)

func main() {
	program.Init() // first of all: in copies that run programs it does not return
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals // the first asks everything to end in order
		cancel()
		second := <-signals // the second ends the process at once
		os.Exit(128 + int(second.(syscall.Signal)))
	}()
	os.Exit(Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
