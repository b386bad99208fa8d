package alert

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Slots of a namespace, over all nodes: how many of its channels messages may be
// on their way to at once. Channels whose last try failed share the smaller
// number, so that receivers that are known to be dead leave room for the others.
// Those of subscribers of status pages have a share of their own, so that many strangers leave room for the channels
// of the namespace.
const (
	MaxChannelsSending   = 128
	MaxChannelsFailing   = 32
	MaxChannelsStrangers = 64
)

// ofStranger reports whether a channel is that of a subscriber of a status page.
func (w WaitingChannel) ofStranger() bool { return strings.HasPrefix(w.Channel, "subscriber/") }

func (w WaitingChannel) rank() int {
	if w.ofStranger() {
		return 2
	}
	return min(w.Tries, 1)
}

// WaitingChannel is a channel with notifications that wait.
type WaitingChannel struct {
	Namespace string
	Channel   string
	Due       time.Time // when the first of them is due
	Taken     time.Time // until when a node has it; in the past: none has
	Tries     int       // the most that failed of one of its messages
}

// ChooseChannels chooses the channels, at most so many, that are told something
// next, out of those that wait. It goes round over the namespaces, the one with
// the fewest messages under way first, and takes one channel of each at a time:
// channels without a failed try first, those of subscribers last, then by the time at which they were due.
// So the dead receivers of a namespace delay no other's messages, and of their
// own only as many as fill [MaxChannelsSending].
func ChooseChannels(waiting []WaitingChannel, now time.Time, most int) []WaitingChannel {
	type lane struct {
		due                         []WaitingChannel
		sending, failing, strangers int
	}
	lanes := map[string]*lane{}
	var order []*lane
	for _, w := range waiting {
		l := lanes[w.Namespace]
		if l == nil {
			l = &lane{}
			lanes[w.Namespace] = l
			order = append(order, l)
		}
		switch {
		case w.Taken.After(now):
			l.sending++
			switch {
			case w.ofStranger():
				l.strangers++
			case w.Tries > 0:
				l.failing++
			}
		case !w.Due.After(now):
			l.due = append(l.due, w)
		}
	}
	for _, l := range order {
		slices.SortStableFunc(l.due, func(a, b WaitingChannel) int {
			return cmp.Or(cmp.Compare(a.rank(), b.rank()), a.Due.Compare(b.Due), cmp.Compare(a.Channel, b.Channel))
		})
	}
	var chosen []WaitingChannel
	for len(chosen) < most {
		slices.SortStableFunc(order, func(a, b *lane) int { return cmp.Compare(a.sending, b.sending) })
		before := len(chosen)
		for _, l := range order {
			// Never more than are left for the others: however many namespaces are
			// full of dead receivers, the next one finds a slot.
			if len(chosen) == most || len(l.due) == 0 || l.sending >= min(MaxChannelsSending, most-len(chosen)) {
				continue
			}
			l.due = slices.DeleteFunc(l.due, func(w WaitingChannel) bool {
				return w.rank() == 1 && l.failing >= MaxChannelsFailing || w.ofStranger() && l.strangers >= MaxChannelsStrangers
			})
			if len(l.due) == 0 {
				continue
			}
			next := l.due[0]
			switch next.rank() {
			case 1:
				l.failing++
			case 2:
				l.strangers++
			}
			l.sending++
			l.due = l.due[1:]
			chosen = append(chosen, next)
		}
		if len(chosen) == before {
			break
		}
	}
	return chosen
}
