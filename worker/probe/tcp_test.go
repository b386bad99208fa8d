package probe_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/belfry-run/belfry"
)

func TestTCP(t *testing.T) {
	t.Parallel()
	echo := raw(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
	banner := raw(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "220 mail\r\n")
		hold(c)
	})
	polite := raw(t, func(c net.Conn) {
		line, _ := bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "you said "+line)
	})
	closed := raw(t, func(net.Conn) {})
	flood := raw(t, func(c net.Conn) { _, _ = io.Copy(c, struct{ io.Reader }{letters{}}) })
	late := raw(t, func(c net.Conn) { // what matches comes in a small last piece
		_, _ = io.WriteString(c, strings.Repeat("x", 5000))
		_, _ = io.WriteString(c, "ready")
		hold(c)
	})
	for name, c := range map[string]struct {
		tcp     belfry.TCP
		holds   string
		outcome belfry.CheckOutcome
		code    belfry.CheckCode
		text    string
	}{
		"opens":        {belfry.TCP{Address: banner}, "", belfry.CheckOK, "", ""},
		"banner":       {belfry.TCP{Address: banner, Expect: "^220 "}, "body startsWith '220'", belfry.CheckOK, "", ""},
		"first piece":  {belfry.TCP{Address: banner}, "body contains 'mail'", belfry.CheckOK, "", ""},
		"a late match": {belfry.TCP{Address: late, Expect: "ready$"}, "", belfry.CheckOK, "", ""},
		"talks":        {belfry.TCP{Address: polite, Send: `hi\r\n`, Expect: "you said hi"}, "", belfry.CheckOK, "", ""},
		"bytes":        {belfry.TCP{Address: echo, Send: `\x00\x01"`, Expect: `^\x00\x01"$`}, "", belfry.CheckOK, "", ""},
		"lines":        {belfry.TCP{Address: echo, Send: "a\nb\"", Expect: "^a\nb\"$"}, "", belfry.CheckOK, "", ""},
		"no word":      {belfry.TCP{Address: closed, Expect: "x"}, "", belfry.CheckFail, belfry.CodeExpect, "without a word"},
		"other words":  {belfry.TCP{Address: polite, Send: "hi\n", Expect: "bye"}, "", belfry.CheckFail, belfry.CodeExpect, `saying "you said hi"`},
		"a flood":      {belfry.TCP{Address: flood, Expect: "y", MaxRead: 10_000}, "", belfry.CheckFail, belfry.CodeExpect, "the first 10000 bytes"},
		"denied":       {belfry.TCP{Address: "10.0.0.1:22"}, "", belfry.CheckError, belfry.CodeBlocked, "may not be reached"},
		"condition":    {belfry.TCP{Address: banner, Expect: "220"}, "body contains 'ftp'", belfry.CheckFail, belfry.CodeAssertion, `body = "220 mail`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := belfry.Task{TCP: &c.tcp}
			if c.holds != "" {
				task.Conditions = []string{c.holds}
			}
			m := look(t, task)
			wants(t, m, c.outcome, c.code, c.text)
			if c.outcome != belfry.CheckError && (m.IP != "127.0.0.1" || m.Phases.Connect <= 0) {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestTCPThatStalls(t *testing.T) {
	t.Parallel()
	silent := stalls(t, belfry.Task{TCP: &belfry.TCP{Address: raw(t, hold), Expect: "x"}}, belfry.CodeFirstByte)
	wants(t, silent, belfry.CheckFail, belfry.CodeFirstByte, "waiting for the first byte")
	wrong := stalls(t, belfry.Task{TCP: &belfry.TCP{Address: raw(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "230 other\xff")
		hold(c)
	}), Expect: "^220"}}, belfry.CodeExpect)
	wants(t, wrong, belfry.CheckFail, belfry.CodeExpect, "saying \"230 other")
	if !strings.HasPrefix(wrong.Snapshot.Body, "230 other") {
		t.Errorf("%+v", wrong.Snapshot)
	}
}
