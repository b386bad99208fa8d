//go:build linux || darwin

package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Standby starts a copy of the server that follows it by streaming and answers
// reads, until it is promoted or cut off. The name is for the primary's
// synchronous_standby_names.
func (s *Server) Standby(t testing.TB, name string) *Server {
	t.Helper()
	standby, err := s.standby(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Close(); err != nil {
			t.Error(err)
		}
	})
	return standby
}

func (s *Server) standby(name string) (*Server, error) {
	dir, err := makeFolder(s.who, false)
	if err != nil {
		return nil, err
	}
	dog, err := watch(dir, s.who)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &Server{bin: s.bin, dir: dir, who: s.who, env: s.env, dog: dog, copy: s.copy}
	if err := c.copyFrom(s, name); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// copyFrom fills the empty folder with a copy of the primary, and starts to follow it.
func (s *Server) copyFrom(primary *Server, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	conninfo := fmt.Sprintf("host=%s port=%d user=postgres application_name=%s", primary.dir, primary.port, name)
	if err := s.run("pg_basebackup", "--pgdata", s.data(), "--dbname", conninfo, "--write-recovery-conf", "--checkpoint", "fast", "--no-sync"); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("pgtest: configure the standby: %w", err)
	}
	_, err = fmt.Fprintf(f, "unix_socket_directories = '%s'\n", s.dir)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("pgtest: configure the standby: %w", err)
	}
	for range 5 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.startLocked(); !errors.Is(err, errBusy) {
			return err
		}
	}
	return err
}

// Promote makes a primary of a standby, as pg_ctl promote does, and returns when the
// new primary accepts writes. The old primary is not changed: if it runs, it
// continues as a stale primary.
func (s *Server) Promote() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run("pg_ctl", "promote", "--pgdata", s.data(), "--wait", "--timeout", strconv.Itoa(int(patient/time.Second)))
}

// CutOff stops a standby from following its primary.
func (s *Server) CutOff() error {
	if err := s.Exec("alter system set primary_conninfo = ''"); err != nil {
		return err
	}
	if err := s.Exec("select pg_reload_conf()"); err != nil {
		return err
	}
	return s.until("select count(*) = 0 from pg_stat_wal_receiver")
}

// Replicate makes each commit of the primary wait for the standby of this name, and
// returns when the standby takes part. With an empty name, commits wait for none.
func (s *Server) Replicate(name string) error {
	if err := s.Exec("alter system set synchronous_standby_names = '" + name + "'"); err != nil {
		return err
	}
	if err := s.Exec("select pg_reload_conf()"); err != nil || name == "" {
		return err
	}
	return s.until("select count(*) > 0 from pg_stat_replication where sync_state = 'sync' and application_name = '" + name + "'")
}

// Exec runs one statement as the server's superuser, in the database postgres.
func (s *Server) Exec(statement string) error {
	if err := s.exec(statement); err != nil {
		return fmt.Errorf("pgtest: %s: %w", statement, err)
	}
	return nil
}

// until waits in the server until a query returns true.
func (s *Server) until(query string) error {
	return s.Exec(fmt.Sprintf(`
		do $$
		begin
			for i in 1..%d loop
				perform pg_stat_clear_snapshot();
				if (%s) then return; end if;
				perform pg_sleep(0.01);
			end loop;
			raise 'it did not become so';
		end $$`, int(patient/time.Second)*50, query))
}

// run runs a program of PostgreSQL to its end.
func (s *Server) run(program string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.Command(programOf(s.bin, program), args...)
	cmd.Dir, cmd.Env = s.dir, environment()
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = s.sysProcAttr()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("pgtest: %s: %w\n%s", program, err, out.String())
	}
	return nil
}

// programOf returns the path of a program of PostgreSQL. The folder of the server may have only a link to the server.
func programOf(bin, name string) string {
	if path := filepath.Join(bin, name); executable(path) {
		return path
	}
	if server, err := filepath.EvalSymlinks(filepath.Join(bin, "postgres")); err == nil {
		return filepath.Join(filepath.Dir(server), name)
	}
	return name
}

// Snapshot stops the server, copies its data, and starts it again. The returned function restores this copy, like a
// restored volume: the server does not know of the restore.
func (s *Server) Snapshot() (restore func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.endLocked(syscall.SIGINT); err != nil {
		return nil, err
	}
	saved := filepath.Join(s.dir, "snapshot")
	if err := s.replace(s.data(), saved); err != nil {
		return nil, err
	}
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.endLocked(syscall.SIGQUIT); err != nil {
			return err
		}
		return s.replace(saved, s.data())
	}, nil
}

// replace replaces a folder with a copy of another, and starts the server. The caller holds s.mu.
func (s *Server) replace(from, to string) error {
	cmd := exec.Command("/bin/sh", "-c", `rm -rf "$1" && cp -a "$0" "$1"`, from, to)
	cmd.SysProcAttr = s.sysProcAttr()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: copy the server's folder: %w\n%s", err, out)
	}
	return s.startLocked()
}
