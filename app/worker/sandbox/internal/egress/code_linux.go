package egress

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/internal/guard"
)

// Registers of the programs. Each call overwrites R0 to R5.
const (
	regContext = asm.R6
	regHigh    = asm.R7 // an IPv4 address, or the first half of an IPv6 one
	regLow     = asm.R8 // its second half
	regPort    = asm.R9 // 0: not known
)

// Labels of the ends of every program.
const (
	passes  = "passes"
	refused = "refused"
)

// code is a program that is being assembled.
type code struct {
	Guard
	asm.Instructions
	labels int
}

func (c *code) add(i ...asm.Instruction) { c.Instructions = append(c.Instructions, i...) }

func (c *code) label() string {
	c.labels++
	return fmt.Sprint("label", c.labels)
}

// mark adds a label at an instruction without effect.
func (c *code) mark(label string) { c.add(asm.Mov.Reg(regHigh, regHigh).WithSymbol(label)) }

func (c *code) end() asm.Instructions {
	c.add(
		asm.Mov.Imm(asm.R0, 1).WithSymbol(passes), asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol(refused), asm.Return(),
	)
	return c.Instructions
}

// connect4 is for struct bpf_sock_addr.
func (e Guard) connect4() asm.Instructions {
	c := &code{Guard: e}
	c.add(
		asm.LoadMem(regHigh, asm.R1, 4, asm.Word), asm.HostTo(asm.BE, regHigh, asm.Word),
		asm.LoadMem(regPort, asm.R1, 24, asm.Word), asm.HostTo(asm.BE, regPort, asm.Half),
	)
	c.judge4()
	return c.end()
}

func (e Guard) connect6() asm.Instructions {
	c := &code{Guard: e}
	for half, reg := range []asm.Register{regHigh, regLow} {
		at := int16(8 + 8*half)
		c.add(
			asm.LoadMem(reg, asm.R1, at, asm.Word), asm.HostTo(asm.BE, reg, asm.Word), asm.LSh.Imm(reg, 32),
			asm.LoadMem(asm.R2, asm.R1, at+4, asm.Word), asm.HostTo(asm.BE, asm.R2, asm.Word), asm.Or.Reg(reg, asm.R2),
		)
	}
	c.add(asm.LoadMem(regPort, asm.R1, 24, asm.Word), asm.HostTo(asm.BE, regPort, asm.Half))
	c.judge6()
	return c.end()
}

// bind is for struct bpf_sock_addr. It allows port 0, which means any free port and which resolvers use.
func (e Guard) bind() asm.Instructions {
	c := &code{Guard: e}
	c.add(
		asm.LoadMem(regPort, asm.R1, 24, asm.Word), asm.HostTo(asm.BE, regPort, asm.Half),
		asm.JNE.Imm(regPort, 0, refused),
	)
	return c.end()
}

// Places on the stack.
const (
	header = -40
	port   = -48
	flags  = -56
)

// direction is the direction of packets: the places of the remote address and port in the headers.
type direction struct {
	address4, address6 int16
	port               int32 // after the IP header
	arrives            bool
}

func (e Guard) leaving() asm.Instructions {
	return e.packets(direction{address4: 16, address6: 24, port: 2})
}
func (e Guard) arriving() asm.Instructions {
	return e.packets(direction{address4: 12, address6: 8, port: 0, arrives: true})
}

// packets is for struct __sk_buff, which begins with the IP header.
//
// Only protocols that programs need pass, and no extension headers: a packet with
// a route header goes elsewhere than its destination says.
func (e Guard) packets(w direction) asm.Instructions {
	c := &code{Guard: e}
	c.add(asm.Mov.Reg(regContext, asm.R1), asm.Mov.Imm(asm.R2, 0), asm.Mov.Imm(regPort, 0))
	c.read(header, 20, refused)
	c.add(
		asm.LoadMem(asm.R1, asm.R10, header, asm.Byte),
		asm.JEq.Imm(asm.R1, 0x45, "ipv4"), // version 4, without options
		asm.RSh.Imm(asm.R1, 4),
		asm.JNE.Imm(asm.R1, 6, refused),
		asm.Mov.Imm(asm.R2, 0),
	)
	c.read(header, 40, refused)
	c.add(
		asm.LoadMem(regHigh, asm.R10, header+w.address6, asm.DWord), asm.HostTo(asm.BE, regHigh, asm.DWord),
		asm.LoadMem(regLow, asm.R10, header+w.address6+8, asm.DWord), asm.HostTo(asm.BE, regLow, asm.DWord),
		asm.LoadMem(asm.R1, asm.R10, header+6, asm.Byte),
	)
	c.protocols("judge6", unix.IPPROTO_ICMPV6, unix.IPPROTO_FRAGMENT)
	c.readPort(40+w.port, "judge6")
	if w.arrives {
		c.refuseOpening(40, 6)
	}
	c.mark("judge6")
	c.judge6()

	c.add(
		asm.LoadMem(regHigh, asm.R10, header+w.address4, asm.Word).WithSymbol("ipv4"), asm.HostTo(asm.BE, regHigh, asm.Word),
		asm.LoadMem(asm.R1, asm.R10, header+9, asm.Byte),
	)
	c.protocols("judge4", unix.IPPROTO_ICMP)
	c.add(
		asm.LoadMem(asm.R1, asm.R10, header+6, asm.Half), asm.HostTo(asm.BE, asm.R1, asm.Half), asm.And.Imm(asm.R1, 0x1fff),
		asm.JNE.Imm(asm.R1, 0, "judge4"), // a later fragment has no port
	)
	c.readPort(20+w.port, "judge4")
	if w.arrives {
		c.refuseOpening(20, 9)
	}
	c.mark("judge4")
	c.judge4()
	return c.end()
}

// read copies size bytes of the packet, from the offset in R2.
func (c *code) read(to int16, size int32, otherwise string) {
	c.add(
		asm.Mov.Reg(asm.R1, regContext),
		asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, int32(to)),
		asm.Mov.Imm(asm.R4, size),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, otherwise),
	)
}

// refuseOpening refuses a TCP packet that opens a connection.
func (c *code) refuseOpening(headerSize int32, protocol int16) {
	const syn, ack = 0x02, 0x10
	next := c.label()
	c.add(
		asm.LoadMem(asm.R1, asm.R10, header+protocol, asm.Byte), asm.JNE.Imm(asm.R1, unix.IPPROTO_TCP, next),
		asm.Mov.Imm(asm.R2, headerSize+13),
	)
	c.read(flags, 1, refused)
	c.add(
		asm.LoadMem(asm.R1, asm.R10, flags, asm.Byte), asm.And.Imm(asm.R1, syn|ack),
		asm.JEq.Imm(asm.R1, syn, refused),
	)
	c.mark(next)
}

// readPort reads the port at an offset in the packet.
func (c *code) readPort(at int32, otherwise string) {
	c.add(asm.Mov.Imm(asm.R2, at))
	c.read(port, 2, otherwise)
	c.add(asm.LoadMem(regPort, asm.R10, port, asm.Half), asm.HostTo(asm.BE, regPort, asm.Half))
}

// protocols goes on for TCP and UDP, jumps for allowed protocols without ports, and refuses all others.
func (c *code) protocols(portless string, protocols ...int32) {
	for _, p := range protocols {
		c.add(asm.JEq.Imm(asm.R1, p, portless))
	}
	next := c.label()
	c.add(asm.JEq.Imm(asm.R1, unix.IPPROTO_TCP, next), asm.JNE.Imm(asm.R1, unix.IPPROTO_UDP, refused))
	c.mark(next)
}

func (c *code) judge4() {
	for _, a := range c.names {
		if a.Is4() {
			c.nameServer(func(otherwise string) { c.unless4(regHigh, netip.PrefixFrom(a, 32), otherwise) })
		}
	}
	c.rules4(regHigh, passes)
}

func (c *code) judge6() {
	for _, a := range c.names {
		if a.Is6() {
			c.nameServer(func(otherwise string) { c.unless6(netip.PrefixFrom(a, 128), otherwise) })
		}
	}
	for _, carrier := range guard.Carriers {
		next := c.label()
		c.unless6(carrier.Prefix, next)
		reg, right := regHigh, 32-8*carrier.At
		if carrier.At >= 8 {
			reg, right = regLow, right+64
		}
		c.add(asm.Mov.Reg(asm.R3, reg), asm.RSh.Imm(asm.R3, int32(right)), asm.LSh.Imm(asm.R3, 32), asm.RSh.Imm(asm.R3, 32))
		if carrier.Alone {
			c.rules4(asm.R3, passes)
		} else {
			c.rules4(asm.R3, next)
		}
		c.mark(next)
	}
	c.rules(c.ipv6, passes, c.unless6)
}

// rules4 goes on at allowed, or refuses.
func (c *code) rules4(address asm.Register, allowed string) {
	c.rules(c.ipv4, allowed, func(p netip.Prefix, otherwise string) { c.unless4(address, p, otherwise) })
}

// rules ends after the first rule for all addresses: the kernel refuses programs
// with unreachable instructions.
func (c *code) rules(rules []guard.Rule, allowed string, unless func(netip.Prefix, string)) {
	for _, r := range rules {
		next, end := c.label(), refused
		if r.Allow {
			end = allowed
		}
		unless(r.Prefix, next)
		c.add(asm.Ja.Label(end))
		if r.Prefix.Bits() == 0 {
			return
		}
		c.mark(next)
	}
}

// dnsPort is the only allowed port of a name server.
const dnsPort = 53

func (c *code) nameServer(unless func(otherwise string)) {
	next := c.label()
	unless(next)
	c.add(asm.JEq.Imm(regPort, dnsPort, passes))
	c.mark(next)
}

// unless4 jumps if the address is not in the range.
func (c *code) unless4(address asm.Register, p netip.Prefix, otherwise string) {
	b := p.Addr().As4()
	c.unlessBits(address, uint64(binary.BigEndian.Uint32(b[:])), 32, p.Bits(), otherwise)
}

func (c *code) unless6(p netip.Prefix, otherwise string) {
	b := p.Addr().As16()
	c.unlessBits(regHigh, binary.BigEndian.Uint64(b[:8]), 64, min(p.Bits(), 64), otherwise)
	c.unlessBits(regLow, binary.BigEndian.Uint64(b[8:]), 64, max(p.Bits()-64, 0), otherwise)
}

// unlessBits jumps unless the first bits of a number match; of is its size in bits.
func (c *code) unlessBits(reg asm.Register, want uint64, of, bits int, otherwise string) {
	if bits == 0 {
		return
	}
	right := of - bits
	c.add(
		asm.Mov.Reg(asm.R1, reg), asm.RSh.Imm(asm.R1, int32(right)),
		asm.LoadImm(asm.R2, int64(want>>right), asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R2, otherwise),
	)
}
