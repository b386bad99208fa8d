package fresh

import (
	"bytes"

	"golang.org/x/net/html"
)

// Part is an element of a page that keeps itself up to date.
type Part struct {
	ID, Text string
}

// Parts are the outermost of them, in the order of the page.
func Parts(page []byte) (parts []Part) {
	z := html.NewTokenizer(bytes.NewReader(page))
	var id, name string // of the part that is being read
	depth, begin, at := 0, 0, 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return parts
		}
		before := at
		at += len(z.Raw())
		if kind != html.StartTagToken && kind != html.EndTagToken {
			continue
		}
		tag, more := z.TagName()
		switch {
		case kind == html.StartTagToken && depth == 0:
			if found := liveID(z, more); found != "" {
				id, name, depth, begin = found, string(tag), 1, before
			}
		case kind == html.StartTagToken && string(tag) == name:
			depth++
		case kind == html.EndTagToken && depth > 0 && string(tag) == name:
			if depth--; depth == 0 {
				parts = append(parts, Part{id, string(page[begin:at])})
			}
		}
	}
}

// liveID is the id of an element that is a part.
func liveID(z *html.Tokenizer, more bool) (id string) {
	live := false
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "id":
			id = string(value)
		case "data-live":
			live = true
		}
	}
	if !live {
		return ""
	}
	return id
}
