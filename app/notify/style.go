package notify

import (
	"fmt"
	"strings"
)

// style is the markup of a channel.
type style struct {
	text token // escapes text
	code token // escapes text between pre
	bold [2]string
	pre  [2]string
	link func(address string) string // writes an address as a link, with the begin of its line
	size size
}

// bare is text without any markup.
var bare = style{text: asIs, code: asIs, link: func(address string) string { return address }, size: bytesOf}

// whole writes a card as one text in at most limit. Notifications that do not
// fit are counted.
func (st style) whole(c card, limit int, withTitle bool) string {
	var parts []string
	used := 0
	put := func(part string) {
		if part != "" {
			parts, used = append(parts, part), used+st.size(part)+2
		}
	}
	const counted = 26 // room for the number of omitted notifications
	foot := ""
	if c.url != "" {
		foot = st.link(c.url)
	}
	if st.size(foot)+2 > limit/3 {
		foot = ""
	}
	limit -= st.size(foot) + 2 + counted
	if withTitle {
		put(st.strong(c.title, limit/2))
	}
	put(fit(c.text, max(0, limit-used)/(1+min(1, len(c.items))), st.text, st.size))
	shown := 0
	for i, it := range c.items {
		room := limit - used
		if room < 80 {
			break
		}
		put(st.item(it, min(room, max(room/(len(c.items)-i), 80))))
		shown++
	}
	if more := c.more + len(c.items) - shown; more > 0 {
		put(fmt.Sprintf("%s and %d more", ellipsis, more))
	}
	put(foot)
	return strings.Join(parts, "\n\n")
}

// item writes a notification in at most limit, with its title if that differs from the card's.
func (st style) item(it item, limit int) string {
	head := ""
	if it.title != "" {
		head = st.strong(it.title, limit/2)
		limit -= st.size(head) + 1
	}
	return joined("\n", head, st.body(it, limit))
}

// body writes a notification without its title. The facts are short and come first, then
// the text. The diff gets the remaining room.
func (st style) body(it item, limit int) string {
	facts := fit(lineOf(it.facts), limit/2, st.text, st.size)
	if facts != "" {
		limit -= st.size(facts) + 1
	}
	share := limit
	if it.diff != "" {
		share = limit / 2
	}
	text := fit(it.text, share, st.text, st.size)
	if text != "" {
		limit -= st.size(text) + 1
	}
	return joined("\n", facts, text, st.block(it.diff, limit))
}

func (st style) strong(s string, limit int) string {
	s = fit(s, limit-st.size(st.bold[0]+st.bold[1]), st.text, st.size)
	if s == "" {
		return ""
	}
	return st.bold[0] + s + st.bold[1]
}

// block writes code, or nothing if only a few characters would fit.
func (st style) block(s string, limit int) string {
	limit -= st.size(st.pre[0] + st.pre[1])
	if s == "" || limit < 20 {
		return ""
	}
	return st.pre[0] + fit(s, limit, st.code, st.size) + st.pre[1]
}

func lineOf(facts []fact) string {
	texts := make([]string, len(facts))
	for i, f := range facts {
		texts[i] = f.name + ": " + f.value
	}
	return strings.Join(texts, " · ")
}

// joined joins the parts that are not empty.
func joined(by string, parts ...string) string {
	var all []string
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, by)
}
