package battery

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// examples are the folders in which property tests keep their failures, to try them again. A planted fault is no such
// failure: a folder that was not there before goes with the last fault that may have written to it.
var examples = folders{faults: map[string]int{}}

type folders struct {
	sync.Mutex
	// faults counts those that run now, by the folder that they may write to and that did not exist before them.
	faults map[string]int
}

// forget returns what to call after the tests have run.
func (f *folders) forget(root string, tests []Test) func() {
	f.Lock()
	defer f.Unlock()
	var kept []string
	for _, t := range tests {
		folder := filepath.Join(root, filepath.FromSlash(t.Package), "testdata", "rapid")
		if f.faults[folder] == 0 {
			if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
				continue
			}
		}
		f.faults[folder]++
		kept = append(kept, folder)
	}
	return func() {
		f.Lock()
		defer f.Unlock()
		for _, folder := range kept {
			if f.faults[folder]--; f.faults[folder] == 0 {
				os.RemoveAll(folder)            //nolint:errcheck // it is not part of the tree
				os.Remove(filepath.Dir(folder)) //nolint:errcheck // it may have other files
			}
		}
	}
}
