// Package guard guards all connections to addresses of users. It checks the
// address that is actually dialed, after name resolution and for every hop. So
// neither a redirect nor a name that resolves differently the second time can
// bypass it.
//
// Only the public internet is allowed. Denied are loopback, private, link-local,
// carrier-grade NAT, multicast, reserved and documentation ranges, the metadata
// services of clouds, and all of these inside IPv6 forms that contain an IPv4
// address. An operator can allow ranges. A metadata service can be allowed only by
// its single address, so that allowing a network never exposes the identity of a
// machine by accident.
package guard

import (
	"fmt"
	"net/netip"
	"slices"
)

// Denied is the error for an address that may not be dialed.
type Denied struct {
	Addr netip.Addr
	Why  string // such as "is private"
}

func (d *Denied) Error() string {
	way := netip.PrefixFrom(d.Addr, d.Addr.BitLen())
	return fmt.Sprintf("address %s %s, and this worker may not reach it (its operator can allow it: --allow-addresses %s)", d.Addr, d.Why, way)
}

// Check returns a [Denied] error if addr may not be dialed. allow are the allowed
// ranges besides the public internet.
func Check(addr netip.Addr, allow []netip.Prefix) error {
	addr = addr.WithZone("").Unmap()
	inner, embedded := embeddedIPv4(addr)
	if embedded {
		if err := Check(inner, allow); err != nil {
			return err
		}
	}
	why := denied(addr)
	if why == "" || allows(allow, addr) {
		return nil
	}
	return &Denied{Addr: addr, Why: why}
}

func allows(allow []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(allow, func(p netip.Prefix) bool {
		return p.Contains(addr) && (!isMetadata(addr) || p.IsSingleIP())
	})
}

func denied(addr netip.Addr) (why string) {
	if isMetadata(addr) {
		return "is a cloud's metadata service"
	}
	for _, r := range ranges {
		if r.prefix.Contains(addr) {
			return r.why
		}
	}
	if addr.Is6() && !publicIPv6.Contains(addr) && !nat64.Contains(addr) {
		return "is not a public address"
	}
	return ""
}

// embeddedIPv4 returns the address that a gateway would reach for addr. (Go treats
// IPv4-mapped addresses as IPv4; Teredo and IPv4-compatible addresses are denied
// as a whole.)
func embeddedIPv4(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	for _, c := range Carriers {
		if c.Prefix.Contains(addr) {
			return netip.AddrFrom4([4]byte(b[c.At : c.At+4])), true
		}
	}
	return netip.Addr{}, false
}

func isMetadata(addr netip.Addr) bool { return slices.Contains(metadata, addr) }

var (
	publicIPv6 = netip.MustParsePrefix("2000::/3")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

// metadata are the addresses of metadata services, which return credentials of the machine.
var metadata = addrs(
	"169.254.169.254", // AWS, Google Cloud, Azure, and most others
	"fd00:ec2::254",   // AWS over IPv6
	"169.254.170.2",   // AWS ECS task credentials
	"169.254.170.23",  // AWS EKS pod identity
	"fd00:ec2::23",    // AWS EKS pod identity over IPv6
	"fd20:ce::254",    // Google Cloud over IPv6
	"100.100.100.200", // Alibaba Cloud
	"192.0.0.192",     // Oracle Cloud
	"168.63.129.16",   // Azure's host agent
)

type deniedRange struct {
	prefix netip.Prefix
	why    string
}

// ranges are from the IANA special-purpose registries (RFC 6890 and its updates).
var ranges = []deniedRange{
	{netip.MustParsePrefix("0.0.0.0/8"), "is unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "is private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "is shared by a carrier (CGNAT)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "is loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "is link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "is private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "is reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "is for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "is reserved"},
	{netip.MustParsePrefix("192.168.0.0/16"), "is private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "is for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "is for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "is for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "is multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "is reserved"},
	{netip.MustParsePrefix("::/128"), "is unspecified"},
	{netip.MustParsePrefix("::1/128"), "is loopback"},
	{netip.MustParsePrefix("fc00::/7"), "is private"},
	{netip.MustParsePrefix("fe80::/10"), "is link-local"},
	{netip.MustParsePrefix("ff00::/8"), "is multicast"},
	{netip.MustParsePrefix("2001::/23"), "is reserved"}, // includes Teredo
	{netip.MustParsePrefix("2001:db8::/32"), "is for documentation"},
	{netip.MustParsePrefix("3fff::/20"), "is for documentation"},
}

func addrs(texts ...string) []netip.Addr {
	as := make([]netip.Addr, len(texts))
	for i, text := range texts {
		as[i] = netip.MustParseAddr(text)
	}
	return as
}
