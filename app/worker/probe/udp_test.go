package probe_test

import (
	"net"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/task"
)

// datagrams answers each datagram with the result of the function, or not at all.
func datagrams(t *testing.T, answer func(string) string) (address string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = conn.Close(); all.Wait() })
	all.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if text := answer(string(buf[:n])); text != "" {
				_, _ = conn.WriteTo([]byte(text), from)
			}
		}
	})
	return conn.LocalAddr().String()
}

func TestUDP(t *testing.T) {
	t.Parallel()
	echo := datagrams(t, func(text string) string { return "you said " + text })
	silent := datagrams(t, func(string) string { return "" })
	gone, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := gone.LocalAddr().String()
	_ = gone.Close()
	for name, c := range map[string]struct {
		udp     task.UDP
		holds   string
		outcome task.CheckOutcome
		code    task.CheckCode
		text    string
	}{
		"matches":          {task.UDP{Address: echo, Send: `hi\n`, Expect: `^you said hi\n$`}, "", task.CheckOK, "", ""},
		"bytes":            {task.UDP{Address: echo, SendHex: "00 FF41", Expect: `A$`}, "", task.CheckOK, "", ""},
		"empty":            {task.UDP{Address: echo, Expect: "^you said $"}, "", task.CheckOK, "", ""},
		"other words":      {task.UDP{Address: echo, Send: "hi", Expect: "bye"}, "", task.CheckFail, task.CodeExpect, `saying "you said hi"`},
		"condition":        {task.UDP{Address: echo, Send: "hi"}, "body contains 'said'", task.CheckOK, "", ""},
		"broken condition": {task.UDP{Address: echo, Send: "hi"}, "body contains 'bye'", task.CheckFail, task.CodeAssertion, "you said hi"},
		"silence is good":  {task.UDP{Address: silent}, "", task.CheckOK, "", ""},
		"answer unasked":   {task.UDP{Address: echo}, "", task.CheckOK, "", ""},
		"refused":          {task.UDP{Address: nobody}, "", task.CheckFail, task.CodeConnectRefused, "nothing listens"},
		"refused, awaited": {task.UDP{Address: nobody, Expect: "x"}, "", task.CheckFail, task.CodeConnectRefused, "nothing listens"},
		"denied":           {task.UDP{Address: "10.0.0.1:53"}, "", task.CheckError, task.CodeBlocked, "may not be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tk := task.Task{UDP: &c.udp}
			if c.holds != "" {
				tk.Conditions = []string{c.holds}
			}
			m := look(t, tk)
			wants(t, m, c.outcome, c.code, c.text)
			if c.outcome == task.CheckOK && m.IP != "127.0.0.1" {
				t.Errorf("%+v", m)
			}
		})
	}
	m := stalls(t, task.Task{UDP: &task.UDP{Address: silent, Expect: "x"}}, task.CodeFirstByte)
	wants(t, m, task.CheckFail, task.CodeFirstByte, "waiting for the first byte")
}
