package search

import (
	"bytes"
	"compress/flate"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
)

// A stored piece of log is one byte that names the encoding, and the encoded text.
const (
	logPlain   = 0
	logDeflate = 1 // RFC 1951
)

// logPackFrom is the size in bytes from which a piece is compressed. Compression saves nothing on shorter pieces of one line.
const logPackFrom = 200

var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is one
	}
	return w
}}

// packLog returns the stored form of a piece in hexadecimal digits, because batches carry text.
func packLog(text string) string {
	var b bytes.Buffer
	if len(text) >= logPackFrom {
		b.WriteByte(logDeflate)
		w := deflaters.Get().(*flate.Writer)
		defer deflaters.Put(w)
		w.Reset(&b)
		_, errW := io.WriteString(w, text)
		if errC := w.Close(); errW == nil && errC == nil && b.Len() <= len(text) {
			return hex.EncodeToString(b.Bytes())
		}
		b.Reset()
	}
	b.WriteByte(logPlain)
	b.WriteString(text)
	return hex.EncodeToString(b.Bytes())
}

// unpackLog returns the text of a stored piece.
func unpackLog(kept []byte) (string, error) {
	if len(kept) == 0 {
		return "", fmt.Errorf("a piece of log is empty")
	}
	switch kept[0] {
	case logPlain:
		return string(kept[1:]), nil
	case logDeflate:
		text, err := io.ReadAll(flate.NewReader(bytes.NewReader(kept[1:])))
		return string(text), err
	}
	return "", fmt.Errorf("a piece of log is written in way %d, which this version does not know", kept[0])
}

// scanLog reads the text of a piece.
type scanLog struct{ to *string }

// Scan implements sql.Scanner.
func (s scanLog) Scan(v any) (err error) {
	kept, ok := v.([]byte)
	if !ok {
		return fmt.Errorf("a piece of log is %T", v)
	}
	*s.to, err = unpackLog(kept)
	return err
}
