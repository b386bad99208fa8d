package cgroup

import "os"

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
