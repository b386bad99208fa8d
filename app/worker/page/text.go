package page

import (
	"html"
	"slices"
	"strings"

	node "golang.org/x/net/html"
)

// writeText writes the text of an element as displayed: block elements break
// lines, and hidden elements are left out. The root element is always written.
func writeText(b *strings.Builder, root *node.Node) {
	verbatim := 0
	walk(root, func(n *node.Node) bool {
		switch {
		case b.Len() > maxCollected:
			return false
		case n.Type == node.TextNode && verbatim > 0:
			b.WriteString(n.Data)
		case n.Type == node.TextNode:
			writeFlowing(b, n.Data)
		case n.Type == node.ElementNode:
			if n != root && (isUnseen[n.Data] || isHidden(n)) {
				return false
			}
			b.WriteString(gap(n.Data))
			if isVerbatim[n.Data] {
				verbatim++
			}
		}
		return n.Type == node.ElementNode || n.Type == node.DocumentNode
	}, func(n *node.Node) {
		if n.Type == node.ElementNode {
			b.WriteString(gap(n.Data))
			if isVerbatim[n.Data] {
				verbatim--
			}
		}
	})
}

// writeFlowing writes text in which a line break counts as a space.
func writeFlowing(b *strings.Builder, text string) {
	for {
		i := strings.IndexAny(text, "\n\r\f\t")
		if i < 0 {
			b.WriteString(text)
			return
		}
		b.WriteString(text[:i])
		b.WriteByte(' ')
		text = text[i+1:]
	}
}

// gap returns the separator around an element.
func gap(name string) string {
	switch {
	case isBlock[name]:
		return "\n"
	case name == "td" || name == "th":
		return " "
	}
	return ""
}

var (
	isBlock = set(`address article aside blockquote body br center dd details dialog dir div dl dt fieldset figcaption
		figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup
		option p pre search section select summary table tbody textarea tfoot thead title tr caption ul xmp`)
	isVerbatim = set("pre textarea listing xmp")
	isUnseen   = set("script style noscript template head iframe object embed video audio canvas datalist noembed noframes")
	isVoid     = set("area base br col embed hr img input link meta param source track wbr")
)

// isHidden reports whether an element is hidden by its own attributes; style sheets are not read.
func isHidden(n *node.Node) bool {
	open := false
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return !strings.EqualFold(a.Val, "until-found")
		case "open":
			open = true
		case "style":
			style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return n.Data == "dialog" && !open
}

// writeMarkup writes an element with sorted attributes, without those that differ
// with every visit. Each block begins a line. Scripts and the like are written
// without their content.
func writeMarkup(b *strings.Builder, root *node.Node) {
	walk(root, func(n *node.Node) bool {
		switch {
		case b.Len() > maxCollected:
			return false
		case n.Type == node.TextNode:
			writeFlowing(b, html.EscapeString(n.Data))
		case n.Type == node.ElementNode:
			if isBlock[n.Data] {
				b.WriteByte('\n')
			}
			writeTag(b, n)
			if isVoid[n.Data] {
				return false
			}
			if n != root && isRaw[n.Data] || n.Data == "template" {
				b.WriteString("</" + n.Data + ">")
				return false
			}
		}
		return n.Type == node.ElementNode || n.Type == node.DocumentNode
	}, func(n *node.Node) {
		if n.Type != node.ElementNode {
			return
		}
		b.WriteString("</" + n.Data + ">")
		if isBlock[n.Data] {
			b.WriteByte('\n')
		}
	})
}

func writeTag(b *strings.Builder, n *node.Node) {
	b.WriteString("<" + n.Data)
	attrs := slices.Clone(n.Attr)
	slices.SortFunc(attrs, func(x, y node.Attribute) int {
		return strings.Compare(x.Namespace+":"+x.Key, y.Namespace+":"+y.Key)
	})
	for _, a := range attrs {
		value, keep := stableValue(n, a)
		if !keep {
			continue
		}
		b.WriteByte(' ')
		if a.Namespace != "" {
			b.WriteString(a.Namespace + ":")
		}
		b.WriteString(a.Key + `="`)
		writeFlowing(b, html.EscapeString(value))
		b.WriteByte('"')
	}
	b.WriteByte('>')
}
