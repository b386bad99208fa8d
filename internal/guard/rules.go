package guard

import "net/netip"

// Rule allows or denies a range.
type Rule struct {
	Prefix netip.Prefix
	Allow  bool
}

// Rules returns [Check] as tables, for code that cannot call it. The first rule
// whose range contains an address decides; the last rule of each family contains
// all addresses. An IPv6 address that contains an IPv4 address ([Carriers]) must
// be allowed by both tables.
func Rules(allow []netip.Prefix) (ipv4, ipv6 []Rule) {
	add := func(p netip.Prefix, allow bool) {
		if p.Addr().Is4() {
			ipv4 = append(ipv4, Rule{p, allow})
		} else {
			ipv6 = append(ipv6, Rule{p, allow})
		}
	}
	for _, a := range metadata {
		single := netip.PrefixFrom(a, a.BitLen())
		add(single, allows(allow, a))
	}
	for _, p := range allow {
		add(p, true)
	}
	for _, r := range ranges {
		add(r.prefix, false)
	}
	add(netip.MustParsePrefix("0.0.0.0/0"), true)
	add(publicIPv6, true)
	add(nat64, true)
	add(netip.MustParsePrefix("::/0"), false)
	return ipv4, ipv6
}

// Carrier is a range of IPv6 addresses that contain an IPv4 address.
type Carrier struct {
	Prefix netip.Prefix
	At     int  // bytes before the IPv4 address
	Alone  bool // only the IPv4 address counts
}

// Carriers lists all such ranges.
var Carriers = []Carrier{
	{sixToFour, 2, false},
	{nat64, 12, false},
	{netip.MustParsePrefix("::ffff:0:0/96"), 12, true},
}
