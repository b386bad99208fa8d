// Package egress guards the network of a control group by programs in the kernel.
package egress
