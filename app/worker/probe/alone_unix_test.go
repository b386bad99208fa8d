//go:build unix

package probe_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/task"
)

// serves is set in a child of these tests that is a server and nothing else.
const serves = "BELFRY_TEST_SERVES"

func init() {
	if os.Getenv(serves) == "" {
		return
	}
	if err := serveAlone(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveAlone takes a certificate from its input, says where it listens without
// TLS and with it, and serves until the input ends.
func serveAlone() error {
	in := bufio.NewReader(os.Stdin)
	var size int
	if _, err := fmt.Fscanln(in, &size); err != nil {
		return err
	}
	pems := make([]byte, size)
	if _, err := io.ReadFull(in, pems); err != nil {
		return err
	}
	cert, err := tls.X509KeyPair(pems, pems)
	if err != nil {
		return err
	}
	page := strings.Repeat("<p>All is well.</p>\n", 500)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })}
	for _, config := range []*tls.Config{nil, {Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		if config == nil {
			go func() { _ = server.Serve(l) }()
			continue
		}
		server.TLSConfig = config
		go func() { _ = server.ServeTLS(l, "", "") }()
	}
	_, _ = io.Copy(io.Discard, in)
	return nil
}

// inChild starts a server in a process of its own.
func inChild(b *testing.B, ca authority) (plain, secure string) {
	b.Helper()
	cert := ca.server(b)
	pems := pemOf(cert.Leaf) + keyPEM(b, cert.PrivateKey.(*ecdsa.PrivateKey))
	child := exec.Command(os.Args[0]) //nolint:gosec // this very program
	child.Env = append(os.Environ(), serves+"=1")
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = child.Wait() })
	_, _ = fmt.Fprintf(in, "%d\n%s", len(pems), pems)
	if _, err := fmt.Fscanln(out, &plain); err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, &secure); err != nil {
		b.Fatal(err)
	}
	return plain, secure
}

// BenchmarkAlone is what checks cost this process, the server being another
// one: the CPU of all threads, in the program and in the system for it. Paced
// is the load of ten thousand monitors once a minute, one every 6 ms: their
// share of a core is the cost of one times 167 a second.
func BenchmarkAlone(b *testing.B) {
	ca := newAuthority(b)
	plain, secure := inChild(b, ca)
	for name, http := range map[string]task.HTTP{
		"plain": {URL: "http://" + plain}, "tls": {URL: "https://" + secure, CA: ca.pem},
	} {
		for way, run := range map[string]func(n int, check func()){"one": oneByOne, "many": manyAtOnce, "paced": paced} {
			b.Run(name+"/"+way, func(b *testing.B) {
				ex := probe.New(probe.Options{Guard: local, PerHost: 1000})
				defer ex.Close()
				t := task.Task{HTTP: &http, Conditions: []string{"status == 200 and latency < 5s", "body contains 'well'"}}
				b.ReportAllocs()
				before := processor(b)
				run(b.N, func() {
					if m := ex.Check(b.Context(), t); m.Outcome != task.CheckOK {
						b.Errorf("%+v", m)
					}
				})
				user, system := processor(b).since(before)
				each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(b.N) }
				b.ReportMetric(each(user), "user-us/op")
				b.ReportMetric(each(system), "system-us/op")
				b.ReportMetric(each(user+system), "cpu-us/op")
			})
		}
	}
}

func oneByOne(n int, check func()) {
	for range n {
		check()
	}
}

func manyAtOnce(n int, check func()) {
	var done atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for done.Add(1) <= int64(n) {
				check()
			}
		})
	}
	all.Wait()
}

func paced(n int, check func()) {
	var all sync.WaitGroup
	tick := time.NewTicker(6 * time.Millisecond)
	defer tick.Stop()
	for range n {
		<-tick.C
		all.Go(check)
	}
	all.Wait()
}

type processorTime struct{ user, system time.Duration }

func processor(b *testing.B) processorTime {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return processorTime{time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())}
}

func (p processorTime) since(before processorTime) (user, system time.Duration) {
	return p.user - before.user, p.system - before.system
}
