package alert

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

// alertsOf parses pending alerts, numbered from 1: "down site 10:00" is the down of
// incident 5, due at 10:00. Optional are tries=N and why=REASON after it.
func alertsOf(t testing.TB, text string) (list []Alert) {
	t.Helper()
	for part := range strings.SplitSeq(text, ";") {
		f := strings.Fields(part)
		if len(f) < 3 {
			t.Fatalf("%q is not an alert", part)
		}
		a := Alert{ID: int64(len(list) + 1), State: Pending, Channel: "mail", Rule: "all", CreatedAt: at("09:00"), Notification: Notification{Type: NotificationType(f[0]), Monitor: strings.Trim(f[1], "-")}, DueAt: at(f[2])}
		switch a.Notification.Type {
		case NotificationDown, NotificationUp, NotificationReminder:
			a.Notification.Incident = 5
		}
		if a.Notification.Type == NotificationReminder {
			a.Notification.Since, a.Notification.Count = a.DueAt.Add(-time.Hour), 1
		}
		for _, extra := range f[3:] {
			key, value, _ := strings.Cut(extra, "=")
			switch key {
			case "tries":
				a.Tries, a.Message = len(value), "m"+value
			case "why":
				a.Reason = strings.ReplaceAll(value, "_", " ")
			case "incident":
				_, _ = fmt.Sscan(value, &a.Notification.Incident)
			}
		}
		list = append(list, a)
	}
	return list
}

// everything is a rule that sends all notifications to one channel.
var everything = Rule{Name: "all", On: NotificationTypes, Channels: []string{"mail"}, Remind: core.Duration(time.Hour)}

// TestRerouteEnds is about quiet hours that never end: they hold an alert for at most
// 30 days, however often it is routed again.
func TestRerouteEnds(t *testing.T) {
	t.Parallel()
	a := alertsOf(t, "down site 10:00 why=quiet_hours_until_7")[0]
	always := func(_ Rule, at time.Time) time.Time { return at.Add(maxQuiet) }
	for _, now := range []time.Time{at("10:00"), at("10:00").Add(maxQuiet / 2)} {
		if got, want := Reroute(a, []Rule{everything}, always, now).DueAt, a.CreatedAt.Add(maxQuiet); !got.Equal(want) {
			t.Errorf("at %s it is due at %s, want %s", now, got, want)
		}
	}
	if got := Reroute(a, []Rule{everything}, always, a.CreatedAt.Add(maxQuiet)); got.Gone != "" || !got.DueAt.IsZero() {
		t.Errorf("after 30 days: %+v", got)
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	alerts := alertsOf(t, "down a 10:00; down b 10:00 tries=x; down c 10:00; down d 10:00 tries=xx; down e 10:00 tries=x")
	var got []string
	for _, group := range Bundle(alerts) {
		text := ""
		for _, a := range group {
			text += a.Notification.Monitor
		}
		got = append(got, text)
	}
	if want := []string{"ac", "be", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var sizes []int
	for _, group := range Bundle(make([]Alert, 2*MaxBundle+1)) {
		sizes = append(sizes, len(group))
	}
	if want := []int{MaxBundle, MaxBundle, 1}; !slices.Equal(sizes, want) {
		t.Errorf("got %v, want %v", sizes, want)
	}
}

func TestAlertsAreTriedForADay(t *testing.T) {
	t.Parallel()
	var waits []string
	var all time.Duration
	tries := 1
	for ; ; tries++ {
		wait, giveUp := Backoff(tries)
		if giveUp {
			break
		}
		all += wait
		if tries < 9 {
			waits = append(waits, core.Duration(wait).String())
		}
	}
	if got, want := strings.Join(waits, " "), "5s 15s 45s 2m15s 6m45s 15m 15m 15m"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if all > 24*time.Hour || all < 23*time.Hour {
		t.Errorf("%d tries take %s", tries, all)
	}
	if wait, giveUp := Backoff(0); wait != 5*time.Second || giveUp {
		t.Errorf("before the first try: %s, %v", wait, giveUp)
	}
}
