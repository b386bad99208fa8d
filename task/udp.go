package task

import (
	"encoding/hex"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// UDP sends a datagram, and optionally waits for an answer.
type UDP struct {
	Address string   `json:"address" doc:"host:port"`
	Family  IPFamily `json:"family,omitempty" enum:"any,ipv4,ipv6" doc:"Default: any"`
	Send    string   `json:"send,omitempty" doc:"Text of the datagram; \\r, \\n and \\x00 are read as in Go; default: an empty datagram"`
	SendHex string   `json:"send_hex,omitempty" doc:"Bytes of the datagram in hexadecimal, instead of send"`
	Expect  string   `json:"expect,omitempty" doc:"Regular expression (RE2) that the first answer must match within the timeout; default: a port that does not refuse is enough"`
}

// maxDatagram is the largest datagram that fits every path, in bytes.
const maxDatagram = 1200

// SendBytes returns the bytes of SendHex.
func (u UDP) SendBytes() ([]byte, error) {
	return hex.DecodeString(strings.Join(strings.Fields(u.SendHex), ""))
}

func (u UDP) withDefaults() UDP {
	u.Family = core.Or(u.Family, FamilyAny)
	return u
}

func (u UDP) validate() error {
	var p core.Problems
	checkAddress(&p, "address", u.Address)
	checkFamily(&p, u.Family)
	checkRegexp(&p, "expect", u.Expect)
	checkEscapes(&p, "send", u.Send)
	raw, err := u.SendBytes()
	if err != nil {
		p.Add("send_hex", u.SendHex, "is not hexadecimal", "two digits a byte, such as 0d 0a")
	}
	if u.Send != "" && u.SendHex != "" {
		p.Add("send_hex", "", "cannot stand beside send", "keep one of them")
	}
	if n := max(len(u.Send), len(raw)); n > maxDatagram {
		p.Addf("send", n, "has more than %d bytes", maxDatagram)
	}
	return p.Err("udp")
}

var udpKind = KindInfo{
	Kind: KindUDP, Title: "UDP", Flag: "udp", Text: "Sends a datagram, and may wait for an answer.", Values: "latency dns_time connect_time first_byte ip body",
	Fields: []setting.Field{
		{Path: "address", Flag: "udp", Usage: "host:port to send a datagram to", Label: "Address", Need: true, Hint: "host:port, such as game.example.com:27015"},
		{Path: "send", Flag: "send", Usage: "text to send first", Label: "Send", Hint: `Text of the datagram; \r, \n and \x00 are read as in Go.`, OneOf: "payload"},
		{Path: "send_hex", Flag: "send-hex", Usage: "bytes to send, in hexadecimal, instead of --send", Label: "or bytes", Hint: "In hexadecimal, such as ff ff ff ff 54.", OneOf: "payload"},
		{Path: "expect", Flag: "expect", Usage: "regular expression that must match what comes back", Label: "Answer matches", Hint: "A regular expression (RE2). Empty: a port that does not refuse is enough."},
		family,
	},
	part:   setting.At(func(t *Task) **UDP { return &t.UDP }, UDP.withDefaults, UDP.validate),
	target: func(t Task) Target { return addressed("udp", "Send a datagram to ", t.UDP.Address) },
	facts: func(t Task) (f setting.Facts) {
		f.Add(t.UDP.Send != "", "Sends", "%s", t.UDP.Send)
		f.Add(t.UDP.SendHex != "", "Sends", "the bytes %s", t.UDP.SendHex)
		f.Add(t.UDP.Expect != "", "Answer matches", "%s", t.UDP.Expect)
		return f
	},
}
