package alert

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// The slots of a namespace over all nodes: to how many channels it may send at the same time. Channels whose last attempt
// failed share the smaller number, so that dead receivers leave room for others. Subscribers of status pages have their
// own share, so that they leave room for the channels of the namespace, and those that failed have a part of it.
const (
	MaxChannelsSending   = 128
	MaxChannelsFailing   = 32
	MaxChannelsStrangers = 64
	MaxStrangersFailing  = 32
)

// ofStranger reports whether the channel belongs to a subscriber of a status page.
func (w WaitingChannel) ofStranger() bool { return strings.HasPrefix(w.Channel, "subscriber/") }

func (w WaitingChannel) rank() int {
	if w.ofStranger() {
		return 2 + min(w.Tries, 1)
	}
	return min(w.Tries, 1)
}

// WaitingChannel is a channel with waiting notifications.
type WaitingChannel struct {
	Namespace string
	Channel   string
	Due       time.Time // when its first notification is due
	Taken     time.Time // until when a node has claimed it; in the past: none has
	Tries     int       // most failed attempts of one of its messages
}

// ChooseChannels returns the waiting channels to send to next, at most that many. It goes round the namespaces, beginning
// with the fewest messages under way, and takes one channel of each at a time. Within a namespace, channels without a
// failed attempt come first and those of subscribers last, in the same order, then by due time. So dead receivers do not delay messages of
// other namespaces, and messages of their own namespace only when they fill [MaxChannelsSending].
func ChooseChannels(waiting []WaitingChannel, now time.Time, most int) []WaitingChannel {
	type lane struct {
		due                         []WaitingChannel
		sending, failing, strangers int
		failingStrangers            int
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
				l.failingStrangers += min(w.Tries, 1)
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
			// A namespace never uses more slots than remain: so the next one finds a
			// slot, however many others are full of dead receivers.
			if len(chosen) == most || len(l.due) == 0 || l.sending >= min(MaxChannelsSending, most-len(chosen)) {
				continue
			}
			l.due = slices.DeleteFunc(l.due, func(w WaitingChannel) bool {
				return w.rank() == 1 && l.failing >= MaxChannelsFailing || w.rank() == 3 && l.failingStrangers >= MaxStrangersFailing ||
					w.ofStranger() && l.strangers >= MaxChannelsStrangers
			})
			if len(l.due) == 0 {
				continue
			}
			next := l.due[0]
			switch next.rank() {
			case 1:
				l.failing++
			case 2, 3:
				l.strangers++
				l.failingStrangers += min(next.Tries, 1)
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
