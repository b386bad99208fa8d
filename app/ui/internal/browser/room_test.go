package browser

import (
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m).Run()) }

// A tab finds nothing of an earlier one in the same room, even at the same address.
func TestTabsOfARoomShareNothing(t *testing.T) {
	var fetched atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/kept" {
			fetched.Add(1)
			w.Header().Set("Cache-Control", "max-age=3600")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>x</title><a href=/ target=_blank>x</a>"))
	}))
	defer site.Close()
	const found = `(async () => {
		const requested = indexedDB.open('x'), made = await new Promise(done => { requested.onupgradeneeded = () => done(true); requested.onsuccess = () => done(false); });
		await fetch('/kept');
		return [document.cookie, localStorage.x, sessionStorage.x, !made && 'database', (await caches.keys()).join(), window.x, history.length > 2 && 'history',
			matchMedia('(prefers-color-scheme: dark)').matches && 'dark', innerWidth !== 1200 && innerWidth].filter(Boolean).join();
	})()`
	var before, after, opened string
	var rooms []*room
	for _, what := range []*string{&before, &after} {
		t.Run("tab", func(t *testing.T) {
			b := Open(t)
			b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `window.x ??= ` + map[bool]string{true: "'script'", false: "undefined"}[what == &before]}, nil)
			b.Visit(site.URL)
			if what == &before {
				b.Emulate("dark", 700)
				back := b.Opened("a")
				b.Eval(`location.href`, &opened)
				back()
				b.Eval(`(document.cookie = 'x=cookie; max-age=3600', localStorage.x = 'local', sessionStorage.x = 'session', caches.open('cache').then(() => new Promise(done => {
					const requested = indexedDB.open('x'); requested.onsuccess = () => { requested.result.close(); done(true); };
				})))`, new(bool))
			}
			b.Eval(found, what)
		})
		shared.Lock()
		rooms = append(rooms, shared.free...)
		shared.Unlock()
	}
	if before != "x=cookie,local,session,database,cache,script,dark,700" {
		t.Errorf("the first tab keeps %q", before)
	}
	if after != "" || fetched.Load() != 2 {
		t.Errorf("a later tab finds %q, and fetched %d times", after, fetched.Load())
	}
	if opened != site.URL+"/" {
		t.Errorf("the link opened %q", opened)
	}
	if len(rooms) != 2 || rooms[0] != rooms[1] {
		t.Errorf("they were in %d rooms", len(rooms))
	}
}

// The room of a test that failed is no longer used, and its tabs are gone.
func TestRoomsOfFailedTestsAreClosed(t *testing.T) {
	ctx := t.Context()
	r := shared.enter(ctx, t)
	shared.leave(r, true)
	if err := r.ask(ctx, "", "Target.getTargets", nil, nil); err == nil {
		t.Error("it can be used")
	}
	for _, f := range shared.free {
		if f == r {
			t.Error("it is free")
		}
	}
}
