package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops limits the addresses that are read from the header of a request, from the right.
const maxHops = 20

// clientAddr returns the address of the client. Without a trusted proxy, it is
// the peer of the connection. If the peer is a trusted proxy, the addresses of
// X-Forwarded-For, or of Forwarded if that is missing, are read from right to
// left, up to the first that is not a trusted proxy. The client itself may have
// written the addresses left of that one.
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

// hops returns the addresses of the proxies and the client, the nearest first.
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

// parseAddr reads an address with or without a port. An invalid text gives the zero address.
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
