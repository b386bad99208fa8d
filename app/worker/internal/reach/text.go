package reach

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// DecodeText converts a body with the Content-Type kind to UTF-8. The charset
// comes from a byte order mark, then the header, then a meta element; otherwise
// the body may already be UTF-8. JSON is UTF-8 unless it has another
// mark, or a header names its charset: a body in UTF-8 is read as such, because
// some servers name another one for it.
func DecodeText(body []byte, kind string, json bool) []byte {
	encoding, name, certain := charset.DetermineEncoding(body, kind)
	if json && !hasMark(body) && (!certain || isUTF8(body)) {
		name = "utf-8"
	}
	switch {
	case name == "utf-8":
		return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	case !certain && name == "windows-1252" && utf8.Valid(body) && !bytes.Contains(metaArea(body), []byte("charset")):
		// The detection reads only the first kilobyte.
		return body
	}
	out, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return body
	}
	return bytes.TrimPrefix(out, []byte("\xef\xbb\xbf"))
}

func hasMark(body []byte) bool {
	return bytes.HasPrefix(body, []byte("\xfe\xff")) || bytes.HasPrefix(body, []byte("\xff\xfe"))
}

// isUTF8 reports whether a body is text in UTF-8. Zero bytes are of UTF-16.
func isUTF8(body []byte) bool { return utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 }

func metaArea(body []byte) []byte { return bytes.ToLower(body[:min(len(body), 1024)]) }

// TextOf returns the body of an answer as UTF-8 if it is a text, or else
// unchanged.
func TextOf(body []byte, kind string) []byte {
	named, params, err := mime.ParseMediaType(kind)
	if err != nil {
		named, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	known, _ := charset.Lookup(params["charset"])
	json := named == "application/json" || strings.HasSuffix(named, "+json")
	isText := json || strings.HasPrefix(named, "text/") || strings.HasSuffix(named, "+xml") || named == "application/xml" || named == "application/javascript"
	if !isText && known == nil && !hasMark(body) {
		return body
	}
	return DecodeText(body, kind, json)
}
