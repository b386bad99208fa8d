package alert

import (
	"fmt"
	"testing"
	"time"
)

func TestChoiceOfChannelsIsFair(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var waiting []WaitingChannel
	add := func(namespace string, n, tries int, age time.Duration) {
		for i := range n {
			waiting = append(waiting, WaitingChannel{Namespace: namespace, Channel: fmt.Sprintf("c%03d", i), Tries: tries, Due: now.Add(-age)})
		}
	}
	count := func(chosen []WaitingChannel) (of map[string]int) {
		of = map[string]int{}
		for _, c := range chosen {
			of[fmt.Sprint(c.Namespace, " ", min(c.Tries, 1))]++
		}
		return of
	}
	add("crowd", 1000, 0, time.Hour)
	add("dead", 100, 7, time.Hour)
	add("dead", 1, 0, 0)
	add("small", 1, 0, 0)
	got := ChooseChannels(waiting, now, 6)
	if of := count(got); of["small 0"] != 1 || of["dead 0"] != 1 || of["crowd 0"] < 2 {
		t.Errorf("six of them: %v", of)
	}
	if of := count(ChooseChannels(waiting, now, 1000)); of["crowd 0"] != MaxChannelsSending || of["dead 1"] != MaxChannelsFailing || of["dead 0"] != 1 || of["small 0"] != 1 {
		t.Errorf("as many as may be: %v", of)
	}
	for i := range waiting {
		if waiting[i].Namespace == "crowd" && i < MaxChannelsSending {
			waiting[i].Taken = now.Add(time.Minute)
		}
	}
	got = ChooseChannels(waiting, now, 1)
	if len(got) != 1 || got[0].Namespace == "crowd" {
		t.Errorf("beside a crowd that is being told: %+v", got)
	}
	if of := count(ChooseChannels(waiting, now, 1000)); of["crowd 0"] != 0 {
		t.Errorf("a crowd that has all its slots gets more: %v", of)
	}
	waiting = []WaitingChannel{{Namespace: "a", Channel: "later", Due: now.Add(time.Second)}, {Namespace: "a", Channel: "now", Due: now, Taken: now}}
	if got := ChooseChannels(waiting, now, 10); len(got) != 1 || got[0].Channel != "now" {
		t.Errorf("of what is not due or was given up: %+v", got)
	}
}

// TestChoiceOfChannelsLeavesASlot fills the slots of a node from one namespace after
// another: the next namespace with a message still finds a slot.
func TestChoiceOfChannelsLeavesASlot(t *testing.T) {
	t.Parallel()
	const slots = 2 * MaxChannelsSending
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var waiting []WaitingChannel
	taken := 0
	for n := range 20 {
		for i := range 1000 {
			waiting = append(waiting, WaitingChannel{Namespace: fmt.Sprintf("n%02d", n), Channel: fmt.Sprintf("c%03d", i), Due: now})
		}
		chosen := ChooseChannels(waiting, now, slots-taken)
		found := false
		for _, c := range chosen {
			for i, w := range waiting {
				if w.Namespace == c.Namespace && w.Channel == c.Channel {
					waiting[i].Taken = now.Add(time.Minute)
				}
			}
			found = found || c.Namespace == fmt.Sprintf("n%02d", n)
		}
		if taken += len(chosen); !found && taken < slots {
			t.Errorf("namespace %d finds no slot, with %d of %d taken", n, taken, slots)
		}
		if n == 0 && len(chosen) != MaxChannelsSending {
			t.Errorf("a namespace alone is told through %d channels at once, and not %d", len(chosen), MaxChannelsSending)
		}
		if n < 7 && !found {
			t.Errorf("namespace %d finds no slot", n)
		}
	}
}

// Many subscribers leave room for the channels of the namespace, which come first.
func TestSubscribersWaitBehindChannels(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	var waiting []WaitingChannel
	for n := range 1000 {
		waiting = append(waiting, WaitingChannel{Namespace: "default", Channel: fmt.Sprint("subscriber/", n), Due: now.Add(-time.Hour)})
	}
	waiting = append(waiting, WaitingChannel{Namespace: "default", Channel: "ops", Due: now}, WaitingChannel{Namespace: "default", Channel: "dead", Due: now, Tries: 3})
	chosen := ChooseChannels(waiting, now, 256)
	if len(chosen) != MaxChannelsStrangers+2 || chosen[0].Channel != "ops" || chosen[1].Channel != "dead" {
		t.Errorf("%d, %+v", len(chosen), chosen[:2])
	}
	for n := range MaxChannelsStrangers {
		waiting[n].Taken = now.Add(time.Minute)
	}
	if chosen := ChooseChannels(waiting, now, 256); len(chosen) != 2 {
		t.Errorf("%d", len(chosen))
	}
}

// Subscribers that fail leave room for others, whatever is due first.
func TestDeadSubscribersLeaveRoomForOthers(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	var waiting []WaitingChannel
	for n := range 500 {
		waiting = append(waiting, WaitingChannel{Namespace: "default", Channel: fmt.Sprint("subscriber/", n), Due: now.Add(-time.Hour), Tries: 5})
	}
	alive := WaitingChannel{Namespace: "default", Channel: "subscriber/900", Due: now}
	chosen := ChooseChannels(append(waiting, alive), now, 256)
	if len(chosen) != MaxStrangersFailing+1 || chosen[0] != alive {
		t.Errorf("%d, the first is %+v", len(chosen), chosen[0])
	}
	for n := range MaxStrangersFailing {
		waiting[n].Taken = now.Add(time.Minute)
	}
	if chosen := ChooseChannels(append(waiting, alive), now, 256); len(chosen) != 1 || chosen[0] != alive {
		t.Errorf("beside dead ones under way: %d are chosen", len(chosen))
	}
}
