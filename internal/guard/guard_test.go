package guard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestDialableAddresses(t *testing.T) {
	t.Parallel()
	for addr, why := range map[string]string{
		"93.184.216.34":           "",
		"2606:2800:220:1::1":      "",
		"172.15.255.255":          "",
		"172.32.0.0":              "",
		"100.63.255.255":          "",
		"64:ff9b::5db8:d822":      "", // NAT64 of a public address
		"2002:5db8:d822::1":       "", // 6to4 of a public address
		"10.1.2.3":                "private",
		"172.16.0.1":              "private",
		"172.31.255.255":          "private",
		"192.168.1.1":             "private",
		"fd12::1":                 "private",
		"127.0.0.1":               "loopback",
		"127.9.9.9":               "loopback",
		"::1":                     "loopback",
		"169.254.1.1":             "link-local",
		"fe80::1":                 "link-local",
		"fe80::1%eth0":            "link-local",
		"100.64.0.1":              "CGNAT",
		"0.0.0.0":                 "unspecified",
		"0.1.2.3":                 "unspecified",
		"::":                      "unspecified",
		"224.0.0.1":               "multicast",
		"ff02::1":                 "multicast",
		"255.255.255.255":         "reserved",
		"198.18.0.1":              "benchmarks",
		"192.0.2.1":               "documentation",
		"2001:db8::1":             "documentation",
		"2001:0:4136:e378::1":     "reserved", // Teredo
		"169.254.169.254":         "metadata",
		"fd00:ec2::254":           "metadata",
		"168.63.129.16":           "metadata",
		"::ffff:127.0.0.1":        "loopback",
		"::ffff:169.254.169.254":  "metadata",
		"::ffff:a00:1":            "private",
		"::127.0.0.1":             "not a public address", // IPv4-compatible
		"64:ff9b::7f00:1":         "loopback",
		"64:ff9b::a9fe:a9fe":      "metadata",
		"64:ff9b:1::1":            "not a public address",
		"2002:7f00:1::":           "loopback",
		"2002:a9fe:a9fe::1":       "metadata",
		"2002:c0a8:101:1:2:3:4:5": "private",
		"4000::1":                 "not a public address",
		"fec0::1":                 "not a public address",
	} {
		err := guard.Check(netip.MustParseAddr(addr), nil)
		if why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s: %v, want %q", addr, err, why)
		}
	}
}

func TestAddressesThatAnOperatorAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, addr string
		ok          bool
	}{
		{"10.0.0.0/8", "10.1.2.3", true},
		{"10.0.0.0/8", "192.168.0.1", false},
		{"10.0.0.0/8", "::ffff:10.1.2.3", true},
		{"10.0.0.0/8", "2002:a01:203::1", true},
		{"private", "fd12::1", true},
		{"private", "127.0.0.1", false},
		{"loopback", "::1", true},
		{"private", "fd00:ec2::254", false}, // an allowed network does not allow metadata services
		{"link-local", "169.254.169.254", false},
		{"0.0.0.0/0", "169.254.169.254", false},
		{"0.0.0.0/0", "127.0.0.1", true},
		{"169.254.169.254", "169.254.169.254", true},
		{"169.254.169.254/32", "169.254.169.254", true},
		{"::/0", "::1", true},
		{"::/0", "64:ff9b::7f00:1", false}, // reaches IPv4 through the gateway
	} {
		allow, err := guard.ParseAllow([]string{c.allow})
		if err != nil {
			t.Fatal(err)
		}
		if err := guard.Check(netip.MustParseAddr(c.addr), allow); (err == nil) != c.ok {
			t.Errorf("%s with %s allowed: %v", c.addr, c.allow, err)
		}
	}
}

func TestTheErrorNamesTheAddressAndTheWayOut(t *testing.T) {
	t.Parallel()
	err := guard.Check(netip.MustParseAddr("10.1.2.3"), nil)
	if want := "address 10.1.2.3 is private, and this worker may not reach it (its operator can allow it: --allow-addresses 10.1.2.3/32)"; err.Error() != want {
		t.Error(err)
	}
}

func TestAllowTextsAreCheckedWithTheirValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.0/33": "is not a range", "10.0.0.1/8": "did you mean 10.0.0.0/8", "intranet": "is not a range",
		"": "is not a range", "::ffff:10.0.0.0/104": "written as IPv6", "fe80::1%eth0": "is not a range", "example.com": "is not a range",
	} {
		_, err := guard.ParseAllow([]string{"private", text})
		if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if ps, err := guard.ParseAllow([]string{" Private ", "LOOPBACK", "1.2.3.4", "2001:db8::/32"}); err != nil || len(ps) != 8 {
		t.Error(ps, err)
	}
}

func FuzzParseAllow(f *testing.F) {
	for _, text := range []string{"private", "10.0.0.0/8", "::1", "1.2.3.4", "10.0.0.1/8"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		allow, err := guard.ParseAllow([]string{text})
		if err != nil {
			return
		}
		for _, p := range allow {
			if err := guard.Check(p.Addr(), allow); err != nil && !strings.Contains(err.Error(), "metadata") {
				t.Errorf("%q does not allow %s: %v", text, p.Addr(), err)
			}
		}
	})
}

func client(o guard.Options) (*http.Client, func()) {
	tr := guard.Transport(o)
	return &http.Client{Transport: tr}, tr.CloseIdleConnections
}

func TestANameThatResolvesToALocalAddressIsDenied(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c, done := client(guard.Options{})
	defer done()
	for _, url := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "http://[::ffff:127.0.0.1]:1/", "http://2130706433/", "http://0x7f.1/"} {
		_, err := c.Get(url)
		if err == nil {
			t.Errorf("%s was reached", url)
		}
	}
	_, err := c.Get(server.URL)
	var denied *guard.Denied
	if !errors.As(err, &denied) || denied.Addr.String() != "127.0.0.1" {
		t.Errorf("%v", err)
	}
}

// A name that resolves to a public address first and to loopback later cannot bypass
// the guard, because the dialed address itself is checked.
func TestANameThatChangesItsAddressIsDenied(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var asked atomic.Int32
	resolver := fakeDNS(t, func() netip.Addr {
		asked.Add(1)
		return netip.MustParseAddr("127.0.0.1")
	})
	c, done := client(guard.Options{Resolver: resolver, ConnectTimeout: time.Minute})
	defer done()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	_, err := c.Get("http://rebind.example.com:" + port + "/")
	if !errors.As(err, new(*guard.Denied)) || asked.Load() == 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
	allowed, done := client(guard.Options{Resolver: resolver, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer done()
	resp, err := allowed.Get("http://rebind.example.com:" + port + "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

func TestARedirectToALocalAddressIsDenied(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.NotFoundHandler())
	defer inner.Close()
	outer := httptest.NewUnstartedServer(http.RedirectHandler(strings.Replace(inner.URL, "127.0.0.1", "127.0.0.2", 1), http.StatusFound))
	outer.Start()
	defer outer.Close()
	c, done := client(guard.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	defer done()
	_, err := c.Get(outer.URL)
	var denied *guard.Denied
	if !errors.As(err, &denied) || denied.Addr.String() != "127.0.0.2" {
		t.Error(err)
	}
}

func TestProxiesFromTheEnvironmentAreIgnoredUnlessAsked(t *testing.T) {
	if guard.Transport(guard.Options{}).Proxy != nil {
		t.Error("a proxy would be used")
	}
	if guard.Transport(guard.Options{ProxyFromEnvironment: true}).Proxy == nil {
		t.Error("no proxy would be used")
	}
}

func TestOtherNetworksAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := guard.NewDialer(guard.Options{}).DialContext(t.Context(), "unix", "/tmp/x"); err == nil {
		t.Error("a socket file was dialed")
	}
	if _, err := guard.NewDialer(guard.Options{}).DialContext(t.Context(), "udp", "127.0.0.1:53"); !errors.As(err, new(*guard.Denied)) {
		t.Error(err)
	}
}

// fakeDNS answers every question for an IPv4 address.
func fakeDNS(t *testing.T, answer func() netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	go func() {
		defer close(ended)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(dnsReply(buf[:n], answer), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// dnsReply returns the answer to a question: the header, the question, and for type A
// one record that refers to the name.
func dnsReply(q []byte, answer func() netip.Addr) []byte {
	end := 12
	for q[end] != 0 {
		end += int(q[end]) + 1
	}
	end += 5
	isA := q[end-4] == 0 && q[end-3] == 1
	out := append([]byte{}, q[:end]...)
	copy(out[2:12], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	if isA {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		ip := answer().As4()
		out = append(out, ip[:]...)
	}
	return out
}
