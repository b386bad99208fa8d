package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/view"
)

// hooked is a hook with the final states whose events it selects.
type hooked struct {
	hook.Hook
	wants func(end jobEnd) bool
}

// hooks are the hooks of a world. A user creates the last one while jobs end.
var hooks = []hooked{
	{hook.Hook{Name: "all", On: []string{"*"}}, func(jobEnd) bool { return true }},
	{hook.Hook{Name: "failures", On: []string{"job.failed", "job.retrying"}}, func(e jobEnd) bool { return e.kind == "func" && e.state == "failed" }},
	{hook.Hook{Name: "some", On: []string{"job.succeeded"}, Tasks: []string{"quick", "b*"}}, func(e jobEnd) bool {
		return e.state == "succeeded" && (e.task == "quick" || e.task == "bulk")
	}},
	{hook.Hook{Name: "pulled", On: []string{"job.*", "cycle.*"}, Pull: true}, func(e jobEnd) bool { return e.kind != "workflow" }},
	{hook.Hook{Name: "new", On: []string{"job.*"}}, func(e jobEnd) bool { return e.kind == "func" }},
}

// mail has the known data about the events of a hook.
type mail struct {
	asked, saved time.Duration // start and end of the call that created it; saved is 0 without an answer
	events       map[int64]hook.Event
	first        []int64           // events in the order of their first arrival
	deliveries   map[string]string // IDs, by the key of a delivery
	cursors      map[string]int64  // for a pulled hook: the event of a cursor
	underWay     int               // requests to the receiver under way
	next         string            // cursor at which a program continues
}

func (d *diary) mail(name string) *mail {
	if d.hooks[name] == nil {
		d.hooks[name] = &mail{events: map[int64]hook.Event{}, deliveries: map[string]string{}, cursors: map[string]int64{}, next: "0"}
	}
	return d.hooks[name]
}

func definition(h hooked, note string) hook.Hook {
	d := h.Hook
	d.Description = note
	if !d.Pull {
		d.URL, d.Secret = core.Secret("https://"+d.Name+".example.com/"), "0123456789abcdef0123456789abcdef"
	}
	return d
}

func (w *world) foundHooks(ctx context.Context) error {
	for _, h := range hooks[:len(hooks)-1] {
		w.diary.mail(h.Name).saved = 1
		if _, err := w.file.SaveHook(ctx, definition(h, "")); err != nil {
			return err
		}
	}
	return nil
}

// hookSteps draws actions of users and programs with hooks.
func hookSteps(seed uint64, length time.Duration) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 12))
	kinds := []string{"pull", "pull", "pull", "pull", "new hook", "edit hook", "pause hook", "resume hook", "resume hook", "replay"}
	for range int(length / (40 * time.Second)) {
		steps = append(steps, step{time.Duration(r.Int64N(int64(length))), kinds[r.IntN(len(kinds))], r.Uint64()})
	}
	return steps
}

// askHooks carries out a step of a user about hooks.
func (w *world) askHooks(ctx context.Context, st *store.Store, s step) (err error) {
	pick := int(s.n >> 20)
	h := hooks[pick%(len(hooks)-1)]
	switch s.what {
	case "pull":
		return w.pull(ctx, st, pick)
	case "new hook":
		h = hooks[len(hooks)-1]
		w.mu.Lock()
		m := w.diary.mail(h.Name)
		if m.asked == 0 {
			m.asked = w.since()
		}
		w.mu.Unlock()
		if _, err = st.SaveHook(ctx, definition(h, "")); err == nil {
			w.mu.Lock()
			m.saved = core.Or(m.saved, w.since())
			w.mu.Unlock()
		}
	case "edit hook":
		_, err = st.SaveHook(ctx, definition(h, fmt.Sprint("edit ", s.n)))
	case "pause hook", "resume hook":
		_, err = st.PauseHook(ctx, "default", h.Name, s.what == "pause hook")
	case "replay":
		_, err = st.ReplayHook(ctx, "default", hooks[pick%3].Name, hook.Replay{Since: w.now().Add(-time.Minute)})
	}
	return err
}

// pull is a program that pulls events of a hook from its cursor or from an earlier one, and acknowledges some.
func (w *world) pull(ctx context.Context, st *store.Store, pick int) error {
	w.mu.Lock()
	m := w.diary.mail("pulled")
	after := m.next
	if pick%4 == 0 {
		after = "0"
	}
	w.mu.Unlock()
	for {
		out, err := st.PullEvents(ctx, "default", "pulled", after, 0)
		if err != nil {
			return err
		}
		w.pulled(m, out)
		if len(out.Events) == 0 {
			break
		}
		after = out.Next
	}
	w.mu.Lock()
	m.next = after
	w.mu.Unlock()
	if pick%3 > 0 && after != "0" {
		_, err := st.AckEvents(ctx, "default", "pulled", after)
		return err
	}
	return nil
}

// poster sends events for a node. Receivers may be slow or dead, may refuse, or their answer may be lost.
type poster struct{ *life }

var _ interface {
	Send(ctx context.Context, c alert.Channel, m alert.Message) view.DeliveryResult
} = poster{}

// Send makes one request. It may arrive even if its sender has given up or ended.
func (p poster) Send(ctx context.Context, c alert.Channel, m alert.Message) view.DeliveryResult {
	w, name := p.node.world, hook.NameOf(c)
	if p.ended() {
		return view.DeliveryResult{Error: errDead.Error()}
	}
	w.underWay(name, 1)
	defer w.underWay(name, -1)
	mood, takes := w.mood(name), 20*time.Millisecond+time.Duration(w.draw("post "+name)%uint64(80*time.Millisecond))
	switch mood {
	case "dead":
		_ = sleep(ctx, p.dead, time.Duration(w.draw("refused "+name)%uint64(50*time.Second)))
		return view.DeliveryResult{Error: "no connection"}
	case "slow":
		takes += time.Duration(w.draw("slow "+name) % uint64(50*time.Second))
	}
	arrived := make(chan struct{})
	w.spawn(func() {
		defer close(arrived)
		time.Sleep(takes)
		if mood == "slow" || mood == "well" || mood == "loses the answer" {
			w.posted(name, m)
		}
	})
	select {
	case <-arrived:
	case <-ctx.Done():
		return view.DeliveryResult{Error: ctx.Err().Error()}
	case <-p.dead:
		return view.DeliveryResult{Error: errDead.Error()}
	}
	switch mood {
	case "500":
		return view.DeliveryResult{Error: "status 500"}
	case "429":
		return view.DeliveryResult{Error: "status 429", RetryAfter: core.Duration(20 * time.Second)}
	case "gone":
		return view.DeliveryResult{Error: "status 410", Gone: true}
	case "loses the answer":
		return view.DeliveryResult{Error: "connection reset"}
	}
	return view.DeliveryResult{}
}

// underWay counts the requests to a receiver.
func (w *world) underWay(name string, by int) {
	w.mu.Lock()
	m := w.diary.mail(name)
	m.underWay += by
	n := m.underWay
	w.mu.Unlock()
	if n > 1 && !w.script.clock {
		w.broken(eventOrder, "%d requests of hook %s are under way", n, name)
	}
}

// mood returns the current behaviour of a receiver. It is dead for two minutes at a time.
func (w *world) mood(name string) string {
	if w.calm.Load() {
		return "well"
	}
	if lot(fmt.Sprint(w.script.seed, name, w.since()/(2*time.Minute)), "dead", 5) == 0 {
		return "dead"
	}
	moods := map[uint64]string{0: "gone", 1: "429", 2: "500", 3: "500", 4: "500", 5: "slow", 6: "slow", 7: "slow", 8: "loses the answer", 9: "loses the answer", 10: "loses the answer"}
	return core.Or(moods[w.draw("mood "+name)%40], "well")
}

// posted records that a receiver has accepted a request.
func (w *world) posted(name string, m alert.Message) {
	var p hook.Payload
	if err := json.Unmarshal(m.Body, &p); err != nil || p.Hook != name || p.Delivery != m.Key {
		w.broken(eventComes, "hook %s gets %s: %v", name, m.Body, err)
		return
	}
	ids := ""
	for _, e := range p.Events {
		ids += fmt.Sprint(" ", e.ID)
	}
	w.trace("hook %s takes%s", name, ids)
	w.mu.Lock()
	before := w.diary.mail(name).deliveries[p.Delivery]
	w.diary.mail(name).deliveries[p.Delivery] = ids
	w.mu.Unlock()
	if before != "" && before != ids {
		w.broken(eventComes, "delivery %s to hook %s has events%s, and had%s", p.Delivery, name, ids, before)
	}
	for i, e := range p.Events {
		if i > 0 && e.ID <= p.Events[i-1].ID {
			w.broken(eventComes, "hook %s gets event %d after event %d in one request", name, e.ID, p.Events[i-1].ID)
		}
		w.arrives(name, e, true)
	}
}
