package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("what waits for a day behind a message to a subscriber that is given up is given up with it, and others are told at once", caseMessagesToADeadSubscriberAreBounded)
}

func caseMessagesToADeadSubscriberAreBounded(b *bench) {
	r := readersOf(b)
	r.open()
	r.confirmed("ann@example.com")
	r.confirmed("bob@example.com")
	dead, told := 0, []string{}
	pass := func() {
		b.Helper()
		for {
			t := must(b.st.TakeAlerts(b.ctx, publicURL, 256))(b)
			for _, m := range t.Messages {
				result := view.DeliveryResult{}
				if m.Channel.Email.To[0] == "ann@example.com" {
					dead++
					result.Error = "no answer"
				} else {
					told = append(told, m.Message.Title)
				}
				ok(b, b.st.SettleAlerts(b.ctx, m, result))
			}
			if len(t.Messages) == 0 && (t.NextAt.IsZero() || t.NextAt.After(t.Now)) {
				return
			}
		}
	}
	say := func(title string) {
		b.Helper()
		must(b.st.CreateAnnouncement(b.ctx, public.Announcement{Page: "public", Title: title}))(b)
		pass()
		want(b, "told", told[len(told)-1], "Acme: "+title)
	}
	left := func(state alert.State) int64 {
		return b.count(`select count(*) from belfry.alerts where channel like 'subscriber/%' and type = 'status' and state = $1`, string(state))
	}
	say("one")
	b.clock.Move(time.Minute)
	say("two")
	for dead < 90 {
		b.clock.Move(15 * time.Minute)
		pass()
	}
	say("three")
	want(b, "pending", left(alert.Pending), 3)
	for dead < 101 {
		b.clock.Move(15 * time.Minute)
		pass()
	}
	want(b, "given up", left(alert.Failed), 2)
	want(b, "pending", left(alert.Pending), 1)
	want(b, "told in their order", strings.Join(told, "; "), "Acme: one; Acme: two; Acme: three")
}
