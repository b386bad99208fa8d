package blobtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing/iotest"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
)

func init() {
	add("what is put is there, whole, until it is deleted", func(b *bench) {
		b.ok(b.Check(b.ctx))
		for _, size := range []int{0, 1, 100_000, 2 << 20} {
			body, up := b.put("program", size)
			b.holds(up, body)
			b.ok(b.Delete(b.ctx, up.Digest))
			b.ok(b.Delete(b.ctx, up.Digest))
			_, err := b.Stat(b.ctx, up.Digest)
			b.code(err, core.NotFound)
			_, err = b.Open(b.ctx, up.Digest)
			b.code(err, core.NotFound)
			b.code(blob.Verify(b.ctx, b.Store, up), core.NotFound)
		}
	})

	add("what is not what was announced is refused, and nothing is left", func(b *bench) {
		body, up := some("program", 70_000)
		other, _ := some("other", 70_000)
		for name, r := range map[string]io.Reader{
			"other bytes": bytes.NewReader(other),
			"too short":   bytes.NewReader(body[:len(body)-1]),
			"nothing":     bytes.NewReader(nil),
			"too long":    io.MultiReader(bytes.NewReader(body), strings.NewReader("x")),
		} {
			if err := b.Put(b.ctx, up, r); core.CodeOf(err) != core.Invalid {
				b.Errorf("%s: %v", name, err)
			}
		}
		nothing := Announce(nil)
		b.code(b.Put(b.ctx, nothing, strings.NewReader("x")), core.Invalid)
		b.code(b.Put(b.ctx, blob.Upload{Digest: up.Digest}, bytes.NewReader(nil)), core.Invalid)
		b.empty()
	})

	add("a source that fails in the middle leaves nothing", func(b *bench) {
		body, up := some("program", 70_000)
		broken := errors.New("the source broke")
		err := b.Put(b.ctx, up, io.MultiReader(bytes.NewReader(body[:40_000]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.ctx)
		err = b.Put(ctx, up, io.MultiReader(bytes.NewReader(body[:40_000]), onRead(cancel), bytes.NewReader(body[40_000:])))
		if !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		}
		b.empty()
	})

	add("what is put again is there once, unchanged", func(b *bench) {
		body, up := b.put("program", 70_000)
		before, err := b.Stat(b.ctx, up.Digest)
		b.ok(err)
		b.put("program", 70_000)
		after, err := b.Stat(b.ctx, up.Digest)
		b.ok(err)
		if before != after {
			b.Fatalf("changed from %+v to %+v", before, after)
		}
		b.holds(up, body)
	})

	add("many who put the same at once all succeed", func(b *bench) {
		body, up := some("program", 300_000)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := b.Put(b.ctx, up, bytes.NewReader(body)); err != nil && core.CodeOf(err) != core.Unavailable {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		b.holds(up, body)
	})

	add("a name that is no digest is refused everywhere", func(b *bench) {
		for _, digest := range badDigests() {
			up := blob.Upload{Digest: digest, Size: 1}
			_, signPut := b.SignPut(b.ctx, up, blob.MaxExpires)
			_, signGet := b.SignGet(b.ctx, digest, blob.MaxExpires)
			_, stat := b.Stat(b.ctx, digest)
			_, open := b.Open(b.ctx, digest)
			errs := []error{signPut, signGet, stat, open, b.Put(b.ctx, up, strings.NewReader("x")), b.Delete(b.ctx, digest)}
			if digest != "" {
				_, list := b.List(b.ctx, digest, 1)
				errs = append(errs, list)
			}
			for i, err := range errs {
				if core.CodeOf(err) != core.Invalid {
					b.Errorf("%q, method %d: %v", digest, i, err)
				}
			}
		}
	})

	add("sizes, lives of links and pages have limits", func(b *bench) {
		_, up := some("program", 1)
		for size, want := range map[int64]core.Code{-1: core.Invalid, MaxSize + 1: core.TooLarge, 1 << 62: core.TooLarge, MaxSize: ""} {
			_, err := b.SignPut(b.ctx, blob.Upload{Digest: up.Digest, Size: size}, blob.MaxExpires)
			b.code(err, want)
			if want != "" {
				b.code(b.Put(b.ctx, blob.Upload{Digest: up.Digest, Size: size}, strings.NewReader("x")), want)
			}
		}
		_, err := b.SignPut(b.ctx, up, 0)
		b.code(err, core.Invalid)
		_, err = b.SignGet(b.ctx, up.Digest, blob.MaxExpires+1)
		b.code(err, core.Invalid)
		for _, n := range []int{-1, 0, blob.MaxList + 1} {
			_, err = b.List(b.ctx, "", n)
			b.code(err, core.Invalid)
		}
	})

	add("a list goes through all in order, page by page", func(b *bench) {
		var want []blob.Info
		for i := range 23 {
			_, up := b.put(string(rune('a'+i)), i)
			want = append(want, blob.Info{Digest: up.Digest, Size: up.Size})
		}
		slices.SortFunc(want, func(x, y blob.Info) int { return cmp.Compare(x.Digest, y.Digest) })
		for _, n := range []int{1, 5, 22, 23, 24, blob.MaxList} {
			if got := names(b.pages(n)); got != names(want) {
				b.Errorf("by %d:\n%swant:\n%s", n, got, names(want))
			}
		}
		none, err := b.List(b.ctx, strings.Repeat("f", 64), 1)
		b.ok(err)
		if len(none) != 0 {
			b.Fatal(none)
		}
	})

	add("a context that has ended is told", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		body, up := some("program", 10)
		_, stat := b.Stat(ctx, up.Digest)
		_, open := b.Open(ctx, up.Digest)
		_, list := b.List(ctx, "", 1)
		for i, err := range []error{stat, open, list, b.Put(ctx, up, bytes.NewReader(body)), b.Delete(ctx, up.Digest), b.Check(ctx)} {
			if !errors.Is(err, context.Canceled) {
				b.Errorf("method %d: %v", i, err)
			}
		}
		b.empty()
	})
}

// onRead does something when it is read, and gives nothing.
func onRead(do func()) io.Reader { return once(do) }

type once func()

func (do once) Read([]byte) (int, error) {
	do()
	return 0, io.EOF
}

func (b *bench) pages(n int) (all []blob.Info) {
	b.Helper()
	after := ""
	for {
		page, err := b.List(b.ctx, after, n)
		b.ok(err)
		all = append(all, page...)
		if len(page) < n {
			return all
		}
		after = page[n-1].Digest
	}
}
