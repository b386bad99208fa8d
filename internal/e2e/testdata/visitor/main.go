// Visitor is a program that the tests upload. Its first argument is a mark that
// identifies its processes, the second the action.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	what, _, _ := strings.Cut(os.Args[2], "-")
	switch what {
	case "report":
		report()
	case "fail":
		fmt.Fprintln(os.Stderr, "it does not add up")
		os.Exit(3)
	case "linger": // waits, with a child in a session of its own
		child := exec.Command("/proc/self/exe", os.Args[1], "sleep")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			fmt.Println("no child:", err)
			os.Exit(1)
		}
		fmt.Println("lingers")
		time.Sleep(time.Hour)
	case "await": // waits for a signal and succeeds
		signalled := make(chan os.Signal, 1)
		signal.Notify(signalled, syscall.SIGUSR1)
		fmt.Println("awaits")
		<-signalled
	case "sleep":
		time.Sleep(time.Hour)
	}
}

// report prints its input and environment, and writes two files.
func report() {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	fmt.Printf("input %s\nenvironment %s\n", input, strings.Join(os.Environ(), " "))
	for _, file := range []string{"report.txt", "parts/one.txt"} {
		path := filepath.Join(os.Getenv("BELFRY_OUTPUT_DIR"), file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, []byte("this is "+file+"\n"), 0o644); err != nil {
			panic(err)
		}
	}
	fmt.Println("reported")
}
