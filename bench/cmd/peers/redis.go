//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a throwaway Redis on a unix socket.
type redisServer struct {
	socket string
	client *redis.Client
	keeper *exec.Cmd
	pipe   io.Closer
}

// keep is a script that runs Redis until the script's input ends, so also when this process dies.
const keep = `
trap '' HUP INT TERM
"$@" &
read -r _
kill $!
wait $!
exit 0`

func redisProgram() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", missing("there is no redis-server")
	}
	return path, nil
}

// redis returns the server of one durability, after emptying it.
func (s *site) redis(ctx context.Context, durable bool) (*redisServer, error) {
	if r := s.redises[durable]; r != nil {
		return r, r.client.FlushAll(ctx).Err()
	}
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.dir, "redis-")
	if err != nil {
		return nil, err
	}
	args := []string{"--port", "0", "--unixsocket", filepath.Join(dir, "s"), "--dir", dir, "--save", ""}
	if durable {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	r := &redisServer{socket: filepath.Join(dir, "s")}
	r.keeper = exec.Command("/bin/sh", append([]string{"-c", keep, "keep-redis", program}, args...)...)
	if r.pipe, err = r.keeper.StdinPipe(); err != nil {
		return nil, err
	}
	if err := r.keeper.Start(); err != nil {
		return nil, err
	}
	r.client = redis.NewClient(&redis.Options{Network: "unix", Addr: r.socket})
	if err := r.await(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	s.redises[durable] = r
	return r, nil
}

func (r *redisServer) await(ctx context.Context) (err error) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = r.client.Ping(ctx).Err(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("redis-server does not answer: %w", err)
}

func (r *redisServer) cpu() (time.Duration, error) { return treeCPU(r.keeper.Process.Pid) }

func (r *redisServer) close() error {
	return errors.Join(r.client.Close(), r.pipe.Close(), r.keeper.Wait())
}
