package sandbox_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	address "github.com/belfry-run/belfry/internal/guard"
)

// Everything here is tried on a wire of the tests' own, which has the addresses
// and answers at them: nothing leaves the machine.
func TestRootGuardsTheNetwork(t *testing.T) {
	needsRoot(t)
	public := []string{"tcp:93.184.215.14:80", "udp:93.184.215.14:80", "tcp:[2606:2800:220:1::1]:80", "udp:[2606:2800:220:1::1]:80", "fast:93.184.215.14:80", "multi:93.184.215.14:80"}
	names := []string{"tcp:10.7.7.53:53", "udp:10.7.7.53:53"}
	private := []string{"tcp:10.7.7.7:80", "udp:10.7.7.7:80", "tcp:[::ffff:10.7.7.7]:80", "tcp:10.7.7.53:80", "udp:10.7.7.53:80"}
	metadata4 := []string{
		"tcp:169.254.169.254:80", "udp:169.254.169.254:80", "udp:169.254.169.254:53", "tcp:[::ffff:169.254.169.254]:80",
		"fast:169.254.169.254:80", "multi:169.254.169.254:80",
	}
	metadata6 := []string{"tcp:[fd00:ec2::254]:80", "udp:[fd00:ec2::254]:80"}
	loopback4 := []string{"tcp:127.0.0.1:80", "udp:127.0.0.1:80", "tcp:0.0.0.0:80"}
	loopback6 := []string{"tcp:[::1]:80"}
	// An answer that comes from a private address, ports of its own, and connections that somebody opens, which take long to fail.
	strange := []string{"strange:93.184.215.14:81"}
	serves := []string{"listen:0.0.0.0:7420", "listen:[::]:7420", "hear:0.0.0.0:8125", "hear:[::]:8125"}
	accepts := []string{"accept:93.184.215.14:0", "accept:[2606:2800:220:1::1]:0"}
	all := slices.Concat(public, names, private, metadata4, metadata6, loopback4, loopback6, strange, serves)
	cases := []struct {
		how       string
		reach     []netip.Prefix
		unguarded bool
		accepts   []string
		network   string
		want      []string
	}{
		{how: "as it comes", accepts: accepts, network: "guarded", want: slices.Concat(public, names)},
		{how: "with private networks", reach: allow(t, "private"), network: "guarded", want: slices.Concat(public, names, private, strange)},
		{how: "with the metadata", reach: allow(t, "169.254.169.254"), network: "guarded", want: slices.Concat(public, names, metadata4)},
		{how: "with all of IPv4", reach: allow(t, "0.0.0.0/0"), network: "guarded", want: slices.Concat(public, names, private, loopback4, strange)},
		{how: "unguarded", unguarded: true, accepts: accepts, network: "machine", want: slices.Concat(all, accepts)},
	}
	alsoInGVisor(t, sandbox.User, func(t *testing.T, w world) {
		var specs []sandbox.Spec
		for _, c := range cases {
			a := w.attack("reach", slices.Concat(all, c.accepts)...)
			a.Network, a.Unguarded, a.Reach = true, c.unguarded, c.reach
			a.Stdout, a.Stderr = nil, nil
			// A try may hold a thread of its own, whose stack of 8 MiB counts in full where RLIMIT_DATA stands in for groups.
			a.Limits = sandbox.Limits{PIDs: 256, Memory: 1 << 30}
			specs = append(specs, a.Spec)
		}
		for i, got := range onWire(t, w, specs) {
			c := cases[i]
			if got.Network != c.network {
				t.Errorf("%s: network %q\n%s", c.how, got.Network, got.Out)
			}
			for _, target := range slices.Concat(all, c.accepts) {
				if reached, want := slices.Contains(got.Reached, target), slices.Contains(c.want, target); reached != want {
					t.Errorf("%s: %s: reached %v, want %v\n%s", c.how, target, reached, want, got.Out)
				}
			}
		}
	})
}

func allow(t *testing.T, words ...string) []netip.Prefix {
	t.Helper()
	ps, err := address.ParseAllow(words)
	must(t, err)
	return ps
}

// Nobody but root can guard it, and without a guard it is not given.
func TestTheNetworkIsRefusedWithoutAGuard(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		w.without = append(slices.Clone(w.without), sandbox.LayerEgress)
		w.name += " without a guard"
		a := w.attack("echo")
		a.Network, a.Unguarded = true, false
		if _, err := w.open(t).Start(t.Context(), a.Spec); !isRefusal(err) {
			t.Errorf("%v", err)
		}
	})
}
