package probe_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/task"
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
		tcp     task.TCP
		holds   string
		outcome task.CheckOutcome
		code    task.CheckCode
		text    string
	}{
		"opens":        {task.TCP{Address: banner}, "", task.CheckOK, "", ""},
		"banner":       {task.TCP{Address: banner, Expect: "^220 "}, "body startsWith '220'", task.CheckOK, "", ""},
		"first piece":  {task.TCP{Address: banner}, "body contains 'mail'", task.CheckOK, "", ""},
		"a late match": {task.TCP{Address: late, Expect: "ready$"}, "", task.CheckOK, "", ""},
		"talks":        {task.TCP{Address: polite, Send: `hi\r\n`, Expect: "you said hi"}, "", task.CheckOK, "", ""},
		"bytes":        {task.TCP{Address: echo, Send: `\x00\x01"`, Expect: `^\x00\x01"$`}, "", task.CheckOK, "", ""},
		"lines":        {task.TCP{Address: echo, Send: "a\nb\"", Expect: "^a\nb\"$"}, "", task.CheckOK, "", ""},
		"no word":      {task.TCP{Address: closed, Expect: "x"}, "", task.CheckFail, task.CodeExpect, "without a word"},
		"other words":  {task.TCP{Address: polite, Send: "hi\n", Expect: "bye"}, "", task.CheckFail, task.CodeExpect, `saying "you said hi"`},
		"a flood":      {task.TCP{Address: flood, Expect: "y", MaxRead: 10_000}, "", task.CheckFail, task.CodeExpect, "the first 10000 bytes"},
		"denied":       {task.TCP{Address: "10.0.0.1:22"}, "", task.CheckError, task.CodeBlocked, "may not be reached"},
		"condition":    {task.TCP{Address: banner, Expect: "220"}, "body contains 'ftp'", task.CheckFail, task.CodeAssertion, `body = "220 mail`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tk := task.Task{TCP: &c.tcp}
			if c.holds != "" {
				tk.Conditions = []string{c.holds}
			}
			m := look(t, tk)
			wants(t, m, c.outcome, c.code, c.text)
			if c.outcome != task.CheckError && (m.IP != "127.0.0.1" || m.Phases.Connect <= 0) {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestTCPThatStalls(t *testing.T) {
	t.Parallel()
	silent := stalls(t, task.Task{TCP: &task.TCP{Address: raw(t, hold), Expect: "x"}}, task.CodeFirstByte)
	wants(t, silent, task.CheckFail, task.CodeFirstByte, "waiting for the first byte")
	wrong := stalls(t, task.Task{TCP: &task.TCP{Address: raw(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "230 other\xff")
		hold(c)
	}), Expect: "^220"}}, task.CodeExpect)
	wants(t, wrong, task.CheckFail, task.CodeExpect, "saying \"230 other")
	if !strings.HasPrefix(wrong.Snapshot.Body, "230 other") {
		t.Errorf("%+v", wrong.Snapshot)
	}
}
