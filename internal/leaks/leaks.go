// Package leaks finds goroutines that the tests of a package have left.
package leaks

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines that are about to end may take. [goleak.Find] gives them half a second, which is too short on a
// busy machine.
const patience = time.Minute

// Main runs tests and ends the process, as a failure if they pass and leave goroutines.
func Main(m interface{ Run() int }) {
	code := m.Run()
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find returns an error with the goroutines that are left after a minute.
func Find() error { return await(func() error { return goleak.Find() }) }

func await(find func() error) error {
	for begun := time.Now(); ; time.Sleep(time.Second / 10) {
		if err := find(); err == nil || time.Since(begun) >= patience {
			return err
		}
	}
}
