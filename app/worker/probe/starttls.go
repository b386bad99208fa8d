package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// errStartTLS is the error of a target that answers, but refuses TLS.
type errStartTLS struct{ said string }

func (e *errStartTLS) Error() string {
	said, _ := core.CleanText(strings.TrimSpace(e.said), 200)
	return fmt.Sprintf("it said %q", said)
}

// startTLS starts TLS with the commands of a protocol. No data may follow the
// answer, because it would be unencrypted.
func startTLS(conn net.Conn, protocol string) error {
	d := dialogue{bufio.NewReaderSize(conn, 4<<10), conn}
	var err error
	switch protocol {
	case "smtp":
		err = d.exchange("", "220", "EHLO belfry\r\n", "250", "STARTTLS\r\n", "220")
	case "ftp":
		err = d.exchange("", "220", "AUTH TLS\r\n", "234")
	case "imap":
		err = d.exchange("", "* OK", "a1 STARTTLS\r\n", "a1 OK")
	case "pop3":
		err = d.exchange("", "+OK", "STLS\r\n", "+OK")
	case "postgres":
		err = d.postgres()
	default:
		err = &errStartTLS{"unknown protocol " + protocol}
	}
	if err == nil && d.from.Buffered() > 0 {
		err = &errStartTLS{"more than was asked for, before TLS"}
	}
	return err
}

type dialogue struct {
	from *bufio.Reader
	to   io.Writer
}

// exchange sends commands. turns alternates between a command and the prefix of its answer.
func (d dialogue) exchange(turns ...string) error {
	for i := 0; i < len(turns); i += 2 {
		if turns[i] != "" {
			if _, err := io.WriteString(d.to, turns[i]); err != nil {
				return err
			}
		}
		if err := d.readAnswer(turns[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// maxLines limits the lines of one answer. The buffer of the reader limits a line.
const maxLines = 100

// readAnswer reads one answer: of IMAP, all lines up to the expected
// one; of SMTP and FTP, all lines with the same code.
func (d dialogue) readAnswer(want string) error {
	isNumber := len(want) == 3
	for range maxLines {
		raw, err := d.from.ReadSlice('\n')
		line := string(raw)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return &errStartTLS{line}
		case err != nil:
			return err
		case isNumber && len(line) > 3 && line[3] == '-':
			continue
		case strings.HasPrefix(line, want):
			return nil
		case strings.HasPrefix(want, "a1 ") && strings.HasPrefix(line, "* "):
			continue
		}
		return &errStartTLS{line}
	}
	return &errStartTLS{"an answer without end"}
}

func (d dialogue) postgres() error {
	if _, err := d.to.Write([]byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}); err != nil {
		return err
	}
	b, err := d.from.ReadByte()
	if err == nil && b != 'S' {
		err = &errStartTLS{string(rune(b))}
	}
	return err
}
