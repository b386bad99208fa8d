package console

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

const (
	liveEvery = time.Second      // at most, a page hears of changes
	liveBeat  = 20 * time.Second // between signs of life
	liveWrite = 10 * time.Second // to write one piece

	eventStream = "text/event-stream"
)

// live streams changes as server-sent events named change, whose data is the
// changed nouns. A page with one of them reads itself again. An assessed monitor
// also has a word of its own, such as check:shop.
//
// Successful checks leave no row that could be followed in order, so their events
// come from the memory of the node that settled them. That may be another node:
// pages about monitors are also read again every 10 s, by data-every.
//
// Changes between the cursor of the page and the opening of the stream are sent at once.
//
// The counts of the navigation come in events named counts.
//
// Above the limit of streams, a page gets an event named full, and connects again
// later. A person who opens the address gets a page.
func live(p *page) error {
	person := strings.Contains(p.R.Header.Get("Accept"), "text/html")
	if p.c.streams.Add(1) > p.c.opt.MaxStreams {
		p.c.streams.Add(-1)
		full := core.Errorf(core.Unavailable, "too many pages are being kept up to date").WithHint("reload to see what is new")
		if person || !strings.Contains(p.R.Header.Get("Accept"), eventStream) {
			return full
		}
		p.W.Header().Set("Content-Type", eventStream) // a browser tells its page nothing of a refusal but that there was one
		_, err := fmt.Fprintf(p.W, "event: full\ndata: %s\n\n", full.Message)
		return err
	}
	defer p.c.streams.Add(-1)
	if person {
		return core.Errorf(core.NotFound, "this address is for pages that keep themselves up to date").WithHint("open one of the pages instead")
	}
	ctx, cancel := context.WithCancel(p.R.Context())
	defer cancel()
	defer context.AfterFunc(p.c.stopping, cancel)()
	// The first look finds out whether this may be watched at all.
	_, cursor, err := p.api.Events(ctx, p.Namespace, "", 0)
	if err != nil {
		return err
	}
	missed := ""
	if since := p.Query("since"); since != "" {
		if events, _, err := p.api.Events(ctx, p.Namespace, since, 0); err == nil && len(events) > 0 {
			missed = "event: change\ndata: " + nouns(events) + "\n\n"
		}
	}
	p.W.Header().Set("Content-Type", eventStream)
	p.W.Header().Set("X-Accel-Buffering", "no") // nginx would hold pieces back
	out := http.NewResponseController(p.W)
	send := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(liveWrite))
		_, err := fmt.Fprint(p.W, text)
		return err == nil && out.Flush() == nil
	}
	counts := counter{page: p}
	for ok := send("retry: 3000\n\nevent: hello\ndata: hello\n\n" + missed + counts.say(ctx)); ok; {
		beat := liveBeat
		if counts.owed {
			beat = countsEvery
		}
		events, next, err := p.api.Events(ctx, p.Namespace, cursor, beat)
		if err != nil || ctx.Err() != nil { // the page opens the stream again, and is told the reason then
			return nil
		}
		cursor = next
		if len(events) == 0 {
			ok = send(": beat\n\n" + counts.say(ctx))
		} else {
			ok = send("event: change\ndata: " + nouns(events) + "\n\n" + counts.say(ctx))
		}
		wait(ctx, liveEvery)
	}
	return nil
}

// nouns returns the nouns of events, each once.
func nouns(events []view.Event) string {
	found := map[string]bool{}
	for _, e := range events {
		switch {
		case e.Job != nil:
			found["job"] = true
		case e.Edit != nil:
			found[e.Edit.Noun] = true
		case e.Check != nil:
			found["check"], found["check:"+e.Check.Monitor] = true, true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
