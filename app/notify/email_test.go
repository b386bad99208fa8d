package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/notify"
)

func TestMailArrivesHoweverItIsEncrypted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup mailSetup
		way   string
	}{
		"starttls and PLAIN":         {mailSetup{auth: "PLAIN"}, "starttls"},
		"default and LOGIN":          {mailSetup{auth: "LOGIN"}, ""},
		"implicit":                   {mailSetup{implicit: true, auth: "CRAM-MD5 PLAIN"}, "implicit"},
		"none":                       {mailSetup{noTLS: true}, "none"},
		"none, though offered":       {mailSetup{}, "none"},
		"opportunistic, and offered": {mailSetup{auth: "PLAIN"}, "opportunistic"},
		"opportunistic, and not":     {mailSetup{noTLS: true}, "opportunistic"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newMailServer(t, c.setup)
			s := newSender(t)
			s.Trust(server.pool)
			if err := s.Send(patient(t), server.channel(c.way, "a@example.com", "B <b@example.com>", "a@example.com"), messages[0].Message); err != nil {
				t.Fatal(err)
			}
			got := server.take()
			if len(got) != 1 || !strings.HasPrefix(got[0].from, "FROM:<belfry@example.com>") || !slices.Equal(got[0].to, []string{"TO:<a@example.com>", "TO:<b@example.com>"}) {
				t.Errorf("mails: got %+v, want one from belfry@ to a@ and b@", got)
			}
			if c.setup.auth != "" && !server.heard("AUTH") {
				t.Error("it did not log in")
			}
		})
	}
}

// TestMailServersAreVerified is about a certificate of a private authority, which
// is trusted by the channel's own setting alone, however the encryption began.
func TestMailServersAreVerified(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"starttls", "opportunistic", "implicit"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			server := newMailServer(t, mailSetup{implicit: way == "implicit"})
			foreign, _ := certificateFor(t, "127.0.0.1")
			s := newSender(t)
			c := server.channel(way, "ops@example.com")
			for name, ca := range map[string]string{"the system's": "", "another": pemOf(foreign)} {
				c.Email.CA = ca
				if err := s.Send(patient(t), c, messages[0].Message); err == nil || !strings.Contains(err.Error(), "certificate") {
					t.Errorf("with authorities of %s: %v", name, err)
				}
			}
			if got := server.take(); len(got) != 0 || server.heard("MAIL") {
				t.Errorf("something was said to a server that is not trusted: %v", got)
			}
			c.Email.CA = pemOf(server.config)
			if err := s.Send(patient(t), c, messages[0].Message); err != nil {
				t.Errorf("with its own authority: %v", err)
			}
			if got := server.take(); len(got) != 1 {
				t.Errorf("%d mails", len(got))
			}
		})
	}
}

func TestMailHeadersAndParts(t *testing.T) {
	t.Parallel()
	server := newMailServer(t, mailSetup{noTLS: true})
	s := newSender(t)
	var all bytes.Buffer
	for _, m := range messages[:len(messages)-1] { // the last has no key: its Message-ID is random
		if err := s.Send(patient(t), server.channel("none", "ops@example.com", `"Köln, Ops" <k@example.com>`), m.Message); err != nil {
			t.Fatal(err)
		}
		got := server.take()
		if len(got) != 1 {
			t.Fatalf("%d mails", len(got))
		}
		head, parts := readMail(t, got[0].data)
		fmt.Fprintf(&all, "== %s\n%s", m.name, head)
		for _, p := range parts {
			fmt.Fprintf(&all, "-- %s\n%s\n", p.kind, p.text)
		}
	}
	golden(t, "email.golden", all.Bytes())
}

type mailPart struct{ kind, text string }

// readMail reads as a mail program does, and writes the head without what
// changes from mail to mail.
func readMail(t *testing.T, data string) (head string, parts []mailPart) {
	t.Helper()
	for _, line := range strings.Split(data, "\r\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\n\x00") || !utf8.ValidString(line) {
			t.Errorf("line %.100q", line)
		}
	}
	msg, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	words := new(mime.WordDecoder)
	var b strings.Builder
	names := []string{}
	for name := range msg.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(msg.Header[name]) != 1 {
			t.Errorf("%s %d times", name, len(msg.Header[name]))
		}
		value, err := words.DecodeHeader(msg.Header.Get(name))
		if err != nil {
			t.Error(err)
		}
		switch name {
		case "Date":
			value = "…"
		case "Content-Type":
			value, _, _ = strings.Cut(value, ";")
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	_, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(msg.Body, params["boundary"])
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return b.String(), parts
		}
		if err != nil {
			t.Fatal(err)
		}
		if e := p.Header.Get("Content-Transfer-Encoding"); e != "quoted-printable" {
			t.Errorf("encoding %q", e)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, mailPart{p.Header.Get("Content-Type"), strings.ReplaceAll(string(text), "\r\n", "\n")})
	}
}

func TestAHugeMailIsCut(t *testing.T) {
	t.Parallel()
	server := newMailServer(t, mailSetup{noTLS: true})
	if err := newSender(t).Send(patient(t), server.channel("none"), huge()); err != nil {
		t.Fatal(err)
	}
	got := server.take()
	if len(got) != 1 || len(got[0].data) > 5<<20 {
		t.Fatalf("%d mails", len(got))
	}
	readMail(t, got[0].data)
}

func TestMailServersThatRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup     mailSetup
		permanent bool
		says      string
	}{
		"greets with no":         {mailSetup{answers: map[string]string{"greeting": "554 no SMTP here " + marker}}, true, "connecting: 554 no SMTP here"},
		"greets with not now":    {mailSetup{answers: map[string]string{"greeting": "421 too busy"}}, false, "421 too busy"},
		"hangs up":               {mailSetup{answers: map[string]string{"greeting": ""}}, false, "connecting: EOF"},
		"is no mail server":      {mailSetup{answers: map[string]string{"greeting": "+OK POP3 ready"}}, false, "connecting"},
		"has no TLS":             {mailSetup{noTLS: true}, false, "the server does not offer STARTTLS; set tls"},
		"refuses TLS":            {mailSetup{answers: map[string]string{"STARTTLS": "454 not now"}}, false, "454 not now"},
		"does not know us":       {mailSetup{auth: "PLAIN", answers: map[string]string{"AUTH": "535 5.7.8 no " + marker}}, true, "535 5.7.8 no ***"},
		"cannot look us up":      {mailSetup{auth: "PLAIN", answers: map[string]string{"AUTH": "454 4.7.0 later"}}, false, "454"},
		"repeats the login":      {mailSetup{auth: "PLAIN", echoesAuth: true}, true, "535"},
		"repeats the LOGIN":      {mailSetup{auth: "LOGIN", echoesAuth: true}, true, "535"},
		"does not want us":       {mailSetup{answers: map[string]string{"MAIL": "550 not you"}}, true, "sender belfry@example.com: 550 not you"},
		"wants us later":         {mailSetup{answers: map[string]string{"MAIL": "451 later"}}, false, "451"},
		"does not want him":      {mailSetup{answers: map[string]string{"RCPT": "550 5.1.1 no such user"}}, true, "sent to 0 of 1; recipient ops@example.com: 550 5.1.1 no such user"},
		"wants him later":        {mailSetup{answers: map[string]string{"RCPT": "450 greylisted"}}, false, "450 greylisted"},
		"closes at him":          {mailSetup{answers: map[string]string{"RCPT": "421 shutting down"}}, false, "421"},
		"does not want the data": {mailSetup{answers: map[string]string{"DATA": "554 no"}}, true, "handing over the mail: 554 no"},
		"calls it spam":          {mailSetup{answers: map[string]string{".": "550 spam"}}, true, "550 spam"},
		"is full":                {mailSetup{answers: map[string]string{".": "452 full"}}, false, "452 full"},
		"hangs up at the end":    {mailSetup{answers: map[string]string{".": ""}}, false, "handing over the mail: EOF"},
		"never stops greeting":   {mailSetup{endless: true}, false, "says too much"},
		"its line is long":       {mailSetup{answers: map[string]string{"MAIL": "550 " + strings.Repeat(marker+"\u202e\x1b", 5000)}}, true, "550"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newMailServer(t, c.setup)
			s := newSender(t)
			s.Trust(server.pool)
			channel := server.channel("")
			channel.Email.Password = marker
			if c.setup.auth == "" {
				channel.Email.User, channel.Email.Password = "", ""
			}
			err := s.Send(patient(t), channel, messages[0].Message)
			if c.setup.auth == "" {
				err = hideMarker(err)
			}
			checkFault(t, name, err, c.permanent, c.says)
			if got := server.take(); len(got) > 0 && name != "hangs up at the end" {
				t.Errorf("it took %+v", got)
			}
		})
	}
}

// hideMarker where it is no secret: the channel has none.
func hideMarker(err error) error {
	if err == nil {
		return nil
	}
	return hiddenMarker{err}
}

type hiddenMarker struct{ error }

func (h hiddenMarker) Error() string { return strings.ReplaceAll(h.error.Error(), marker, "x") }
func (h hiddenMarker) As(target any) bool {
	return errors.As(h.error, target)
}

func TestMailServersThatHang(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "."} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			server := newMailServer(t, mailSetup{auth: "PLAIN", hangs: at})
			s := newSender(t)
			s.Trust(server.pool)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err := s.Send(ctx, server.channel(""), messages[0].Message)
			checkFault(t, at, err, false, "took too long")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
}

func TestAnAcceptedMailCountsAsSentAfterAnError(t *testing.T) {
	t.Parallel()
	for _, setup := range []mailSetup{{hangs: "QUIT"}, {answers: map[string]string{"QUIT": ""}}, {answers: map[string]string{"QUIT": "500 what?"}}} {
		server := newMailServer(t, setup)
		s := newSender(t)
		s.Trust(server.pool)
		if err := s.Send(patient(t), server.channel(""), messages[0].Message); err != nil {
			t.Error(err)
		}
	}
}

func TestARefusedRecipientDoesNotKeepTheOthersFromTheirMail(t *testing.T) {
	t.Parallel()
	server := newMailServer(t, mailSetup{noTLS: true, answers: map[string]string{
		"RCPT TO:<gone@example.com>": "550 5.1.1 no such user", "RCPT TO:<later@example.com>": "450 greylisted"}})
	s := newSender(t)
	all := []string{"a@example.com", "gone@example.com", "later@example.com", "b@example.com"}

	err := s.Send(patient(t), server.channel("none", all...), messages[0].Message)
	checkFault(t, "first", err, false, "sent to 2 of 4; recipient later@example.com: 450 greylisted; recipient gone@example.com: 550 5.1.1 no such user")
	if got := server.take(); len(got) != 1 || len(got[0].to) != 2 {
		t.Errorf("first try: got mails %+v, want one to 2 recipients", got)
	}
	// Another try: no recipient gets the mail twice.
	err = s.Send(patient(t), server.channel("none", all...), messages[0].Message)
	checkFault(t, "second", err, false, "sent to 2 of 4")
	if got := server.take(); len(got) != 0 {
		t.Errorf("second try: got mails %+v, want none", got)
	}
	// Another message goes to all again, and its error is permanent without the temporary refusal.
	err = s.Send(patient(t), server.channel("none", all[:2]...), messages[1].Message)
	checkFault(t, "third", err, true, "sent to 1 of 2; recipient gone@example.com")
	if got := server.take(); len(got) != 1 {
		t.Errorf("other message: got mails %+v, want one", got)
	}
}

// A domain is sent in ASCII. A non-ASCII account needs a server that supports it, and does not stop the mail to others.
func TestAddressesInOtherScripts(t *testing.T) {
	t.Parallel()
	server := newMailServer(t, mailSetup{noTLS: true})
	c := server.channel("none", "ops@müller.example", "jörg@example.com")
	c.Email.From = "Übersicht <bell@müller.example>"
	err := newSender(t).Send(patient(t), c, messages[0].Message)
	checkFault(t, "without SMTPUTF8", err, true, "sent to 1 of 2; the server does not offer SMTPUTF8, which jörg@example.com needs")
	got := server.take()
	if len(got) != 1 || !strings.HasPrefix(got[0].from, "FROM:<bell@xn--mller-kva.example>") || !slices.Equal(got[0].to, []string{"TO:<ops@xn--mller-kva.example>"}) {
		t.Fatalf("mail to an international domain: got %+v, want ASCII domains", got)
	}
	for _, want := range []string{"@xn--mller-kva.example>\r\n", "<bell@xn--mller-kva.example>", "<ops@xn--mller-kva.example>"} {
		if !strings.Contains(got[0].data, want) {
			t.Errorf("it has no %q: %s", want, got[0].data)
		}
	}

	c.Email.From = "glöckner@example.com"
	checkFault(t, "a sender", newSender(t).Send(patient(t), c, messages[0].Message), true, "does not offer SMTPUTF8, which glöckner@example.com needs")
	if got := server.take(); len(got) != 0 {
		t.Errorf("sender outside ASCII: got mails %+v, want none", got)
	}

	server = newMailServer(t, mailSetup{noTLS: true, utf8: true})
	if err := newSender(t).Send(patient(t), server.channel("none", "jörg@example.com"), messages[0].Message); err != nil {
		t.Error(err)
	}
	if got := server.take(); len(got) != 1 || !strings.HasSuffix(got[0].from, " SMTPUTF8") || got[0].to[0] != "TO:<jörg@example.com>" {
		t.Errorf("server with SMTPUTF8: got mails %+v, want one with SMTPUTF8", got)
	}
}

func TestAPasswordIsNotShownToTheNetwork(t *testing.T) {
	t.Parallel()
	server := newMailServer(t, mailSetup{noTLS: true, auth: "PLAIN LOGIN"})
	c := server.channel("none")
	c.Email.Host = "localhost.example.com"
	err := newSender(t).Send(patient(t), c, messages[0].Message)
	if err == nil || server.heard("AUTH") { // it is not even reached here
		t.Error(err)
	}
	c = newMailServer(t, mailSetup{noTLS: true, auth: "NTLM2"}).channel("none")
	checkFault(t, "no way", newSender(t).Send(patient(t), c, messages[0].Message), true, "no way to log in")
	c = newMailServer(t, mailSetup{noTLS: true}).channel("none")
	c.Email.User, c.Email.Password = "ops", marker
	checkFault(t, "no way at all", newSender(t).Send(patient(t), c, messages[0].Message), false, "leave out user and password, or set another port")
}

func TestMailServersWithAnotherHostsCertificateAreRefused(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"starttls", "implicit"} {
		server := newMailServer(t, mailSetup{implicit: way == "implicit", auth: "PLAIN"})
		err := newSender(t).Send(patient(t), server.channel(way), messages[0].Message)
		checkFault(t, way, err, false, "certificate")
		if server.heard("AUTH") {
			t.Error("it showed the password")
		}
	}
}

func TestMailAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	good := alert.EmailChannel{Host: "127.0.0.1", Port: 1, From: "a@example.com", To: []string{"b@example.com"}}
	for name, change := range map[string]func(*alert.EmailChannel){
		"no recipients":    func(e *alert.EmailChannel) { e.To = nil },
		"no sender":        func(e *alert.EmailChannel) { e.From = "" },
		"header in sender": func(e *alert.EmailChannel) { e.From = "a@example.com\r\nBcc: x@example.com" },
		"header in name":   func(e *alert.EmailChannel) { e.To = []string{"\"x\r\nBcc: y\" <b@example.com>"} },
		"two in one":       func(e *alert.EmailChannel) { e.To = []string{"b@example.com, c@example.com"} },
		"a bracket":        func(e *alert.EmailChannel) { e.To = []string{`"b> NOTIFY=NEVER"@example.com`} },
		"a word":           func(e *alert.EmailChannel) { e.To = []string{"nobody"} },
		"no host":          func(e *alert.EmailChannel) { e.Host = "" },
		"a socket":         func(e *alert.EmailChannel) { e.Host = "unix:///run/postfix" },
		"a port":           func(e *alert.EmailChannel) { e.Port = 70000 },
		"a way":            func(e *alert.EmailChannel) { e.TLS = "ssl3" },
	} {
		e := good
		change(&e)
		checkFault(t, name, s.Send(patient(t), alert.Channel{Email: &e}, messages[0].Message), true, "")
	}
	if notify.Permanent(s.Send(patient(t), alert.Channel{Email: &good}, messages[0].Message)) {
		t.Error("the good one is not")
	}
}
