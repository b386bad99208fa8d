package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// runAsFirst is for the first process of a container, which gets the orphans of all others and has to reap them: commands,
// browsers and programs leave some. It runs this program again as its child, passes signals on to it, reaps, and ends as the
// child does. It returns at once in any other process, and if it cannot start the child. Reaping is kept out of the child,
// because it would take the ends of processes from those that wait for them.
func runAsFirst() {
	if os.Getpid() != 1 {
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(endings(signal.Ignored), syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)...)
	child, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "belfry is the first process here, and cannot reap what others leave:", err)
		signal.Reset()
		return
	}
	go func() {
		for s := range signals {
			_ = unix.Kill(child, s.(syscall.Signal))
		}
	}()
	for {
		var status unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &status, 0, nil); {
		case err == unix.EINTR || err == nil && pid != child:
		case err != nil:
			fmt.Fprintln(os.Stderr, "belfry: wait:", err)
			os.Exit(1)
		case status.Signaled():
			os.Exit(128 + int(status.Signal()))
		default:
			os.Exit(status.ExitStatus())
		}
	}
}
