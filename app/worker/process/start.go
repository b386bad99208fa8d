package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// lookPath finds a program in the PATH that it will have, not in the worker's.
// A name with a slash is used as it is, from the working directory.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.ContainsAny(name, "/"+string(filepath.Separator)) {
		return name, nil
	}
	if runtime.GOOS == "windows" && filepath.Ext(name) == "" {
		name += ".exe"
	}
	path := lastValue(env, "PATH")
	var denied string
	for _, in := range filepath.SplitList(path) {
		if !filepath.IsAbs(in) {
			in = filepath.Join(dir, in)
		}
		file := filepath.Join(in, name)
		switch err := executable(file); {
		case err == nil:
			return file, nil
		case errors.Is(err, fs.ErrPermission):
			denied = file
		}
	}
	if denied != "" {
		return "", fmt.Errorf("program %s may not be executed by this worker's user", denied)
	}
	return "", fmt.Errorf("program %q was not found in PATH %s of this worker", name, path)
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fs.ErrNotExist
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return fs.ErrPermission
	}
	return nil
}

// lastValue returns the last value of a name, which counts if the name is there twice.
func lastValue(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, found := strings.CutPrefix(env[i], name+"="); found {
			return value
		}
	}
	return ""
}

// startFailed returns the result for a program that did not start. A fault of the
// file is permanent; a shortage of resources is retried.
func startFailed(r *worker.Run, cmd *exec.Cmd, err error) job.Finish {
	name := cmd.Args[0]
	switch {
	case worker.MachineFault(err):
		return r.Unable(fmt.Errorf("start %s: %w", name, err))
	case errors.Is(err, fs.ErrNotExist):
		if executable(cmd.Path) == nil {
			return r.Refused("program %s is there, but the interpreter in its first line (#!) is not", name)
		}
		return r.Refused("program %s was not found on this worker", name)
	case errors.Is(err, fs.ErrPermission):
		return r.Refused("program %s may not be executed by this worker's user", name)
	case errors.Is(err, syscall.ENOEXEC):
		return r.Refused("program %s is not executable on this machine: wrong architecture, or a script without a first line such as #!/bin/sh", name)
	case errors.Is(err, syscall.E2BIG):
		return r.Refused("arguments and environment of %s are too large for this machine", name)
	}
	return r.Failed("start %s: %v", name, err)
}
