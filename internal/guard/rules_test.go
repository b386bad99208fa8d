package guard_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/belfry-run/belfry/internal/guard"
)

// byRules decides by the tables alone.
func byRules(addr netip.Addr, ipv4, ipv6 []guard.Rule) bool {
	first := func(rules []guard.Rule, a netip.Addr) bool {
		for _, r := range rules {
			if r.Prefix.Contains(a) {
				return r.Allow
			}
		}
		panic(a)
	}
	if addr.Is4() {
		return first(ipv4, addr)
	}
	b := addr.As16()
	for _, c := range guard.Carriers {
		if c.Prefix.Contains(addr) {
			inner := first(ipv4, netip.AddrFrom4([4]byte(b[c.At:c.At+4])))
			if c.Alone || !inner {
				return inner
			}
		}
	}
	return first(ipv6, addr)
}

func TestRulesAndCheckAgree(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{
		nil, {"private"}, {"loopback", "10.1.2.3", "fd12::/16"}, {"0.0.0.0/0"}, {"::/0"}, {"169.254.169.254", "fd00:ec2::/32"}, {"link-local", "168.63.129.16/32"},
	} {
		allow, err := guard.ParseAllow(words)
		if err != nil {
			t.Fatal(err)
		}
		ipv4, ipv6 := guard.Rules(allow)
		for _, addr := range interesting(append(ipv4, ipv6...)) {
			if got, want := byRules(addr, ipv4, ipv6), guard.Check(addr, allow) == nil; got != want {
				t.Errorf("%s with %v allowed: %v instead of %v", addr, words, got, want)
			}
		}
	}
}

// interesting returns the addresses at the edges of ranges, directly and inside of
// each carrier, and some random ones.
func interesting(rules []guard.Rule) (all []netip.Addr) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range rules {
		last := r.Prefix.Addr().AsSlice()
		for bit := r.Prefix.Bits(); bit < 8*len(last); bit++ {
			last[bit/8] |= 0x80 >> (bit % 8)
		}
		end, _ := netip.AddrFromSlice(last)
		all = append(all, r.Prefix.Addr(), end)
		for _, a := range []netip.Addr{r.Prefix.Addr().Prev(), end.Next()} {
			if a.IsValid() {
				all = append(all, a)
			}
		}
	}
	for range 200 {
		var b [16]byte
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		all = append(all, netip.AddrFrom16(b), netip.AddrFrom4([4]byte(b[:4])))
	}
	for _, a := range all {
		if !a.Is4() {
			continue
		}
		for _, c := range guard.Carriers {
			b, inner := c.Prefix.Addr().As16(), a.As4()
			copy(b[c.At:], inner[:])
			all = append(all, netip.AddrFrom16(b))
		}
	}
	return all
}
