package guard

import "net/netip"

// Rule says of a range whether it may be reached.
type Rule struct {
	Prefix netip.Prefix
	Allow  bool
}

// Rules is [Check] as a table, for a machine that cannot call it: the first rule
// whose range holds an address decides, and the last of each family holds them
// all. An IPv6 address that carries an IPv4 address ([Carriers]) must pass by
// the rules of both.
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

// Carrier is a range of IPv6 addresses that carry an IPv4 address.
type Carrier struct {
	Prefix netip.Prefix
	At     int  // bytes before the IPv4 address
	Alone  bool // only the IPv4 address counts
}

// Carriers are all of them.
var Carriers = []Carrier{
	{sixToFour, 2, false},
	{nat64, 12, false},
	{netip.MustParsePrefix("::ffff:0:0/96"), 12, true},
}
