package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops bounds the addresses that are read of a request, from the right.
const maxHops = 20

// clientAddr is the address that a request comes from. The peer of the
// connection is believed; what it says of others counts only if it is a trusted
// proxy. Then the addresses that X-Forwarded-For lists, or Forwarded where that
// is missing, are read from right to left, up to the first that is no trusted
// proxy: what stands before it, the client wrote itself.
func clientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	at := parseAddr(r.RemoteAddr)
	for _, hop := range hops(r.Header) {
		if !isTrusted(at, trusted) {
			break
		}
		next := parseAddr(hop)
		if !next.IsValid() {
			break
		}
		at = next
	}
	return at
}

func isTrusted(at netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(at) })
}

// hops are the addresses of the way, the nearest first.
func hops(h http.Header) []string {
	header, read := "X-Forwarded-For", strings.TrimSpace
	if len(h.Values(header)) == 0 {
		header, read = "Forwarded", forwardedFor
	}
	var all []string
	for _, line := range slices.Backward(h.Values(header)) {
		for _, item := range slices.Backward(strings.Split(line, ",")) {
			if all = append(all, read(item)); len(all) == maxHops {
				return all
			}
		}
	}
	return all
}

// forwardedFor is the address in one element of Forwarded (RFC 7239), or empty.
func forwardedFor(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseAddr reads an address with or without a port; the zero one is none.
func parseAddr(text string) netip.Addr {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	at, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return at.Unmap().WithZone("")
}
