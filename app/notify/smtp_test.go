package notify_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
)

// mailServer is a small SMTP server that keeps the mails that it gets.
type mailServer struct {
	t        testing.TB
	listener net.Listener
	setup    mailSetup
	config   *tls.Config
	pool     *x509.CertPool
	done     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	mails []gotMail
	said  []string // every command, of all connections
}

type gotMail struct {
	from string
	to   []string
	data string
}

// mailSetup is how a server differs from a good one.
type mailSetup struct {
	utf8       bool              // SMTPUTF8 is offered
	implicit   bool              // TLS from the first byte
	noTLS      bool              // STARTTLS is not offered
	auth       string            // mechanisms that are offered, such as PLAIN LOGIN
	answers    map[string]string // by command, or "MAIL FROM:<x>" and so on: said instead
	hangs      string            // the command after which it says nothing any more
	endless    bool              // its greeting never ends
	echoesAuth bool              // refuses a login by saying it
}

func newMailServer(t testing.TB, setup mailSetup) *mailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{t: t, listener: l, setup: setup, conns: map[net.Conn]bool{}}
	s.config, s.pool = certificateFor(t, "127.0.0.1")
	s.done.Go(s.accept)
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.done.Wait()
	})
	return s
}

func (s *mailServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.mu.Unlock()
		s.done.Go(func() { s.serve(conn); _ = conn.Close() })
	}
}

func (s *mailServer) serve(conn net.Conn) {
	if s.setup.implicit {
		conn = tls.Server(conn, s.config)
	}
	c := &mailTalk{s: s, conn: conn, in: bufio.NewReader(conn)}
	if s.setup.endless {
		for c.say("220-hello") == nil {
		}
		return
	}
	if !c.answer("greeting", "220 mail.test ESMTP") {
		return
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.mu.Lock()
		s.said = append(s.said, line)
		s.mu.Unlock()
		if !c.command(line) {
			return
		}
	}
}

// mailTalk is one conversation.
type mailTalk struct {
	s    *mailServer
	conn net.Conn
	in   *bufio.Reader
	mail gotMail
	tls  bool
}

func (c *mailTalk) say(line string) error {
	_, err := c.conn.Write([]byte(line + "\r\n"))
	return err
}

// answer returns the answer of the setup to a command, or else the usual one.
func (c *mailTalk) answer(command, usual string) bool {
	if c.s.setup.hangs != "" && strings.HasPrefix(command, c.s.setup.hangs) {
		_, _ = c.in.ReadByte() // until it is closed
		return false
	}
	for prefix, instead := range c.s.setup.answers {
		if strings.HasPrefix(command, prefix) {
			if instead == "" {
				return false // hangs up
			}
			return c.say(instead) == nil && !strings.HasPrefix(instead, "421")
		}
	}
	return c.say(usual) == nil
}

func (c *mailTalk) refuses(command string) bool {
	for prefix := range c.s.setup.answers {
		if strings.HasPrefix(command, prefix) {
			return true
		}
	}
	return false
}

func (c *mailTalk) command(line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "EHLO":
		out := "250-mail.test\r\n"
		if !c.s.setup.noTLS && !c.tls && !c.s.setup.implicit {
			out += "250-STARTTLS\r\n"
		}
		if c.s.setup.auth != "" {
			out += "250-AUTH " + c.s.setup.auth + "\r\n"
		}
		if c.s.setup.utf8 {
			out += "250-SMTPUTF8\r\n"
		}
		return c.answer("EHLO", out+"250 8BITMIME")
	case "STARTTLS":
		if !c.answer("STARTTLS", "220 go ahead") || c.refuses("STARTTLS") {
			return !c.refuses("STARTTLS")
		}
		c.conn = tls.Server(c.conn, c.s.config)
		c.in, c.tls = bufio.NewReader(c.conn), true
	case "AUTH":
		return c.login(rest)
	case "MAIL":
		c.mail = gotMail{from: rest}
		return c.answer(line, "250 ok")
	case "RCPT":
		if !c.refuses(line) {
			c.mail.to = append(c.mail.to, rest)
		}
		return c.answer(line, "250 ok")
	case "DATA":
		return c.data()
	case "RSET":
		c.mail = gotMail{}
		return c.answer("RSET", "250 ok")
	case "QUIT":
		_ = c.answer("QUIT", "221 bye")
		return false
	default:
		return c.answer(line, "502 what?")
	}
	return true
}

func (c *mailTalk) login(how string) bool {
	way, response, _ := strings.Cut(how, " ")
	if way == "LOGIN" {
		var answers []string
		for _, ask := range []string{"Username:", "Password:"} {
			_ = c.say("334 " + base64.StdEncoding.EncodeToString([]byte(ask)))
			line, _ := c.in.ReadString('\n')
			text, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
			answers = append(answers, string(text))
		}
		response = base64.StdEncoding.EncodeToString([]byte("\x00" + strings.Join(answers, "\x00")))
	}
	text, _ := base64.StdEncoding.DecodeString(response)
	if c.s.setup.echoesAuth {
		return c.say("535 5.7.8 not "+strconv.Quote(string(text))+" in "+how+" or "+strings.ReplaceAll(string(text), "\x00", " ")) == nil
	}
	if string(text) != "\x00ops\x00"+marker {
		return c.answer("AUTH", "535 5.7.8 who are you?")
	}
	return c.answer("AUTH", "235 welcome")
}

func (c *mailTalk) data() bool {
	if !c.answer("DATA", "354 go on") || c.refuses("DATA") {
		return c.refuses("DATA")
	}
	var b strings.Builder
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
	c.mail.data = b.String()
	if !c.refuses(".") {
		c.s.mu.Lock()
		c.s.mails = append(c.s.mails, c.mail)
		c.s.mu.Unlock()
	}
	return c.answer(".", "250 queued")
}

// channel goes to the server.
func (s *mailServer) channel(way string, to ...string) alert.Channel {
	_, text, _ := net.SplitHostPort(s.listener.Addr().String())
	port, _ := strconv.Atoi(text)
	if len(to) == 0 {
		to = []string{"ops@example.com"}
	}
	e := &alert.EmailChannel{Host: "127.0.0.1", Port: port, TLS: way, From: "Belfry <belfry@example.com>", To: to}
	if s.setup.auth != "" {
		e.User, e.Password = "ops", marker
	}
	return alert.Channel{Namespace: "default", Name: "mail", Email: e}
}

func (s *mailServer) take() []gotMail {
	s.mu.Lock()
	defer s.mu.Unlock()
	mails := s.mails
	s.mails = nil
	return mails
}

func (s *mailServer) heard(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.said, "\n"), part)
}

// certificateFor an address, and who trusts it.
func certificateFor(t testing.TB, ip string) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(ip)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

// pemOf is the certificate of a server.
func pemOf(c *tls.Config) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificates[0].Certificate[0]}))
}
