package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
	"golang.org/x/net/idna"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/public"
)

// email sends a mail to all recipients of the channel at once.
//
// A refused recipient does not stop the mail to the others. If the server
// accepted only some recipients, the error says so. Another try of the same
// message then goes to the others alone, while this sender remembers them.
func (s *Sender) email(ctx context.Context, c alert.Channel, m alert.Message) error {
	ctx, cancel := withDeadline(ctx, DefaultTimeout)
	defer cancel()
	from, to, err := addresses(c.Email)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(to), func(a *mail.Address) bool { return s.taken.has(c, m, a.Address) })
	if len(missing) == 0 {
		return nil
	}
	msg, err := s.mail(from, to, m)
	if err != nil {
		return permanent("the mail cannot be written: %v", err)
	}
	conn, err := s.dialMail(ctx, c.Email)
	if err != nil {
		return err
	}
	defer conn.close()
	if err := conn.sayable(from); err != nil {
		return err
	}
	if _, err := conn.do("sender "+from.Address, func() error { return conn.smtp.Mail("<" + from.Address + ">") }); err != nil {
		return err
	}
	took, refused, err := conn.recipients(missing)
	if err != nil {
		return err
	}
	if len(took) == 0 {
		return refused.err(len(to)-len(missing), len(to), conn.host)
	}
	if err := conn.data(msg); err != nil {
		return err
	}
	for _, a := range took {
		s.taken.add(c, m, a.Address)
	}
	return refused.err(len(to)-refused.count(), len(to), conn.host)
}

// addresses returns the addresses of a channel, in the form for a mail server.
func addresses(e *alert.EmailChannel) (from *mail.Address, to []*mail.Address, err error) {
	if from, err = addressOf(e.From); err != nil {
		return nil, nil, err
	}
	for _, text := range e.To {
		a, err := addressOf(text)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(to, func(b *mail.Address) bool { return a.Address == b.Address }) {
			to = append(to, a)
		}
	}
	if len(to) == 0 {
		return nil, nil, permanent("it has no recipients")
	}
	return from, to, nil
}

func addressOf(text string) (*mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsFunc(text, isControl) || strings.ContainsAny(a.Address, "<>\"\\ \t(),;:") || len(a.Address) > 254 {
		return nil, permanent("%.100q is not a mail address", clean(text))
	}
	a.Name = line(a.Name)
	// Every server accepts a domain in ASCII, and the Message-ID contains it.
	local, domain, _ := strings.Cut(a.Address, "@")
	if domain, err = idna.Lookup.ToASCII(domain); err == nil {
		a.Address = local + "@" + domain
	}
	return a, nil
}

// sayable refuses a non-ASCII address if the server does not support SMTPUTF8.
func (c *mailConn) sayable(a *mail.Address) error {
	reads, _ := c.smtp.Extension("SMTPUTF8")
	if reads || !strings.ContainsFunc(a.Address, func(r rune) bool { return r > unicode.MaxASCII }) {
		return nil
	}
	return &fault{host: c.host, text: "the server does not offer SMTPUTF8, which " + a.Address + " needs", permanent: true}
}

// mailConn is a connection to a mail server.
type mailConn struct {
	ctx  context.Context
	host string
	smtp *smtp.Client
	raw  net.Conn
	stop func() bool
}

// dialMail connects through the guard, encrypts and logs in.
func (s *Sender) dialMail(ctx context.Context, e *alert.EmailChannel) (*mailConn, error) {
	conn := &mailConn{ctx: ctx, host: net.JoinHostPort(e.Host, strconv.Itoa(mailPort(e))), stop: func() bool { return true }}
	config := s.tls.Clone()
	config.ServerName = e.Host
	if e.CA != "" {
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM([]byte(e.CA)) {
			return nil, permanent("its ca holds no certificate")
		}
	}
	options, err := mailOptions(e, config)
	if err != nil {
		return nil, err
	}
	if e.Host == "" || strings.ContainsFunc(e.Host, func(c rune) bool { return isControl(c) || c == '/' || c == ' ' }) {
		return nil, permanent("%.100q is not the name of a mail server", clean(e.Host))
	}
	deadline, _ := ctx.Deadline()
	// One second more than the context, whose error is clearer.
	options = append(options, gomail.WithTimeout(max(time.Until(deadline), 0)+time.Second),
		gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			raw, err := s.dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			// The SMTP library ignores contexts: the end of the context closes the connection.
			conn.raw = &capped{Conn: raw, left: maxMailAnswers}
			conn.stop = context.AfterFunc(conn.ctx, func() { _ = raw.Close() })
			if e.TLS != tlsImplicit {
				return conn.raw, nil
			}
			encrypted := tls.Client(conn.raw, config)
			return encrypted, encrypted.HandshakeContext(ctx)
		}))
	client, err := gomail.NewClient(e.Host, options...)
	if err != nil {
		return nil, permanent("mail server %q: %v", e.Host, err)
	}
	_, err = conn.do("connecting", func() error {
		conn.smtp, err = client.DialToSMTPClientWithContext(ctx)
		return err
	})
	if err != nil {
		conn.close()
		return nil, err
	}
	return conn, nil
}

// How a connection is encrypted.
const (
	tlsStart    = "starttls"
	tlsImplicit = "implicit"
	tlsOffered  = "opportunistic" // used if the server offers it; a failure is then an error
	tlsNone     = "none"
)

func mailPort(e *alert.EmailChannel) int {
	switch {
	case e.Port != 0:
		return e.Port
	case e.TLS == tlsImplicit:
		return 465
	case e.TLS == tlsNone, e.TLS == tlsOffered:
		return 25
	}
	return 587
}

func mailOptions(e *alert.EmailChannel, config *tls.Config) ([]gomail.Option, error) {
	// The dialer of the guard does implicit TLS.
	options := []gomail.Option{gomail.WithPort(mailPort(e)), gomail.WithTLSConfig(config), gomail.WithTLSPolicy(gomail.NoTLS)}
	// Over TLS, PLAIN and LOGIN work everywhere. Without TLS, the password must not
	// cross the network in the clear (PLAIN then works to this machine alone).
	shown := []gomail.SMTPAuthType{gomail.SMTPAuthPlain, gomail.SMTPAuthLogin}
	kept := []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthCramMD5}
	ways := slices.Concat(shown, kept)
	switch e.TLS {
	case "", tlsStart:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case tlsOffered:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
		ways = slices.Concat(kept, shown)
	case tlsNone:
		ways = slices.Concat(kept, shown)
	case tlsImplicit:
	default:
		return nil, permanent("%.40q is no way to encrypt mail: starttls, implicit, opportunistic or none", e.TLS)
	}
	if e.User != "" || e.Password != "" {
		options = append(options, gomail.WithUsername(e.User), gomail.WithPassword(string(e.Password)), gomail.WithOpportunisticSMTPAuth(ways...))
	}
	return options, nil
}

// do adds to an error the step and whether it is permanent: a 4xx of a mail
// server is temporary, a 5xx is permanent.
func (c *mailConn) do(doing string, step func() error) (code int, err error) {
	if err = step(); err == nil {
		return 0, nil
	}
	var said *textproto.Error
	switch {
	case errors.As(err, &said):
		return said.Code, &fault{host: c.host, text: fmt.Sprintf("%s: %d %s", doing, said.Code, said.Msg), permanent: said.Code >= 500}
	case errors.Is(err, gomail.ErrNoSupportedAuthDiscovered), errors.Is(err, smtp.ErrUnencrypted):
		return 0, &fault{host: c.host, text: "it offers no way to log in that keeps the password from the network; set tls", permanent: true}
	}
	switch text := err.Error(); { // the library exports no values for these errors
	case strings.Contains(text, "does not support STARTTLS"):
		err = errors.New("the server does not offer STARTTLS; set tls to how it encrypts")
	case strings.HasSuffix(text, "does not support SMTP AUTH"):
		err = errors.New("the server offers no way to log in; leave out user and password, or set another port")
	}
	return 0, broken(c.ctx, c.host, doing, err)
}

// recipients sends the recipients. An error means that the connection is lost.
func (c *mailConn) recipients(to []*mail.Address) (took []*mail.Address, refused refusals, err error) {
	for _, a := range to {
		code, err := 0, c.sayable(a)
		if err != nil {
			refused.permanent = append(refused.permanent, err)
			continue
		}
		code, err = c.do("recipient "+a.Address, func() error { return c.smtp.Rcpt("<" + a.Address + ">") })
		switch {
		case err == nil:
			took = append(took, a)
		case code == 0 || code == 421: // the server closes the connection
			return nil, refused, err
		case Permanent(err):
			refused.permanent = append(refused.permanent, err)
		default:
			refused.temporary = append(refused.temporary, err)
		}
	}
	return took, refused, nil
}

// refusals are the errors of refused recipients, permanent and temporary.
type refusals struct{ permanent, temporary []error }

func (r refusals) count() int { return len(r.permanent) + len(r.temporary) }

// err is nil if no recipient was refused. It is permanent if all refusals are.
func (r refusals) err(sent, all int, host string) error {
	if r.count() == 0 {
		return nil
	}
	f := &fault{host: host, permanent: len(r.temporary) == 0, text: fmt.Sprintf("sent to %d of %d", sent, all)}
	for _, err := range slices.Concat(r.temporary, r.permanent) {
		f.text += "; " + strings.TrimPrefix(err.Error(), host+": ")
	}
	return f
}

// data sends the mail. Once the server has accepted it, later errors do not
// count.
func (c *mailConn) data(msg *gomail.Msg) error {
	_, err := c.do("handing over the mail", func() error {
		w, err := c.smtp.Data()
		if err != nil {
			return err
		}
		if _, err := msg.WriteTo(w); err != nil {
			return err // without the final dot the server discards the mail
		}
		return w.Close()
	})
	if err == nil && c.smtp.UpdateDeadline(time.Second) == nil {
		_ = c.smtp.Quit()
	}
	return err
}

func (c *mailConn) close() {
	c.stop()
	if c.raw != nil {
		_ = c.raw.Close()
	}
}

// maxMailAnswers limits all answers of a mail server in one connection, in
// bytes. The library does not limit them.
const maxMailAnswers = 256 << 10

type capped struct {
	net.Conn
	left int
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("the server says too much")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func mailSecrets(c alert.Channel) []string {
	if public.IsSubscriber(c.Name) { // the address of a subscriber is a secret
		return append(c.Email.To, mailPassword(c)...)
	}
	return mailPassword(c)
}

func mailPassword(c alert.Channel) []string {
	if c.Email.Password == "" {
		return nil
	}
	return []string{"\x00" + c.Email.User + "\x00" + string(c.Email.Password)} // AUTH PLAIN
}
