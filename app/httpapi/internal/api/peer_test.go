package api

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestAddressOfAClientBehindProxies(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		peer    string
		headers []string // name, value
		want    string
	}{
		"no proxy":                         {"192.0.2.1:5", nil, "192.0.2.1"},
		"header of an untrusted peer":      {"192.0.2.1:5", []string{"X-Forwarded-For", "198.51.100.9"}, "192.0.2.1"},
		"one proxy":                        {"10.0.0.1:5", []string{"X-Forwarded-For", "198.51.100.9"}, "198.51.100.9"},
		"address forged by the client":     {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.7, 198.51.100.9"}, "198.51.100.9"},
		"two proxies":                      {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.7, 198.51.100.9, 10.0.0.2"}, "198.51.100.9"},
		"two lines":                        {"10.0.0.1:5", []string{"X-Forwarded-For", "203.0.113.7", "X-Forwarded-For", "198.51.100.9"}, "198.51.100.9"},
		"nonsense":                         {"10.0.0.1:5", []string{"X-Forwarded-For", "198.51.100.9, unknown"}, "10.0.0.1"},
		"all are proxies":                  {"10.0.0.1:5", []string{"X-Forwarded-For", "10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"no header":                        {"10.0.0.1:5", nil, "10.0.0.1"},
		"with a port":                      {"10.0.0.1:5", []string{"X-Forwarded-For", "198.51.100.9:4711"}, "198.51.100.9"},
		"IPv6":                             {"[fd00::1]:5", []string{"X-Forwarded-For", "2001:db8::1"}, "2001:db8::1"},
		"IPv4 in IPv6":                     {"[::ffff:10.0.0.1]:5", []string{"X-Forwarded-For", "::ffff:198.51.100.9"}, "198.51.100.9"},
		"Forwarded":                        {"10.0.0.1:5", []string{"Forwarded", `for=203.0.113.7, For="[2001:db8::1]:4711";proto=https`}, "2001:db8::1"},
		"Forwarded without an address":     {"10.0.0.1:5", []string{"Forwarded", "for=203.0.113.7, for=_hidden"}, "10.0.0.1"},
		"X-Forwarded-For before the other": {"10.0.0.1:5", []string{"Forwarded", "for=203.0.113.7", "X-Forwarded-For", "198.51.100.9"}, "198.51.100.9"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Add(c.headers[i], c.headers[i+1])
		}
		if got := clientAddr(r, trusted); got.String() != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	long := &http.Request{RemoteAddr: "10.0.0.1:5", Header: http.Header{"X-Forwarded-For": {strings.Repeat("10.0.0.2,", 10_000) + "10.0.0.3"}}}
	if n := len(hops(long.Header)); n != maxHops {
		t.Errorf("got %d addresses, want %d", n, maxHops)
	}
}
