// Visitor is a program that the tests upload. Its first argument is a mark by
// which its processes are found, the second says what it does.
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
	case "linger": // with a child that has left its session
		child := exec.Command("/proc/self/exe", os.Args[1], "sleep")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			fmt.Println("no child:", err)
			os.Exit(1)
		}
		fmt.Println("lingers")
		time.Sleep(time.Hour)
	case "await": // a signal, and end well
		signalled := make(chan os.Signal, 1)
		signal.Notify(signalled, syscall.SIGUSR1)
		fmt.Println("awaits")
		<-signalled
	case "sleep":
		time.Sleep(time.Hour)
	}
}

// report shows all that it was given, and leaves two files.
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
