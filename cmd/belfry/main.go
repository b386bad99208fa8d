// Command belfry runs things on time: a server, its workers, and the verbs
// that talk to them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first signal asks everything to end in order. After it signals act
	// as they always do, so that a second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
