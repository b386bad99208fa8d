// Package egress guards the network of a control group with eBPF programs in the
// kernel. [Guard] has the rules of package guard as maps; connections and
// packets to other addresses fail in the kernel, whatever the program does.
// Without the programs in place, the sandbox gives no network.
package egress
