package guard

import (
	"net/netip"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// keywords are words for ranges in ParseAllow.
var keywords = map[string][]netip.Prefix{
	"loopback":   prefixes("127.0.0.0/8", "::1/128"),
	"private":    prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
	"link-local": prefixes("169.254.0.0/16", "fe80::/10"),
}

func prefixes(texts ...string) []netip.Prefix {
	ps := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		ps[i] = netip.MustParsePrefix(text)
	}
	return ps
}

const allowHint = "a range such as 10.0.0.0/8, an address, or one of private, loopback, link-local"

// ParseAllow parses ranges, addresses, and the words private, loopback and
// link-local.
func ParseAllow(texts []string) ([]netip.Prefix, error) {
	var allow []netip.Prefix
	for _, text := range texts {
		ps, err := parseAllow(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		allow = append(allow, ps...)
	}
	return allow, nil
}

func parseAllow(text string) ([]netip.Prefix, error) {
	if ps := keywords[strings.ToLower(text)]; ps != nil {
		return ps, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return nil, core.InvalidField("allow_addresses", text, "is not a range of addresses", allowHint)
	case p.Addr().Is4In6():
		return nil, core.InvalidField("allow_addresses", text, "is an IPv4 range written as IPv6", "write it as IPv4")
	case p != p.Masked():
		return nil, core.InvalidField("allow_addresses", text, "has bits after its length", "did you mean "+p.Masked().String())
	}
	return []netip.Prefix{p}, nil
}
