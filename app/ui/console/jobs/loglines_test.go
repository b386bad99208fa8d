package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// readerOf answers pieces, at most so many at a time.
func readerOf(pieces []job.LogLine, most int) logReader {
	return func(_ context.Context, cursor string) (core.Page[job.LogLine], error) {
		at := 0
		if cursor != "" {
			if _, err := fmt.Sscan(cursor, &at); err != nil {
				return core.Page[job.LogLine]{}, err
			}
		}
		end := min(len(pieces), at+most)
		return core.Page[job.LogLine]{Items: pieces[at:end], Next: fmt.Sprint(end)}, nil
	}
}

func texts(rows []*logged) (out []string) {
	for _, l := range rows {
		out = append(out, fmt.Sprintf("%d %s %s", l.number(), streams[l.stream], l.plain()))
	}
	return out
}

func pieceOf(attempt int, s job.Stream, text string) job.LogLine {
	return job.LogLine{Attempt: attempt, LogPiece: job.LogPiece{Stream: s, Text: text}}
}

// Each line that stands in a log for what is missing is known by its words.
func TestLogGapsAreKnown(t *testing.T) {
	for _, text := range []string{fmt.Sprintf(job.LogOverLimit, 7, 9), fmt.Sprintf(job.LogLeftOut, 7, 9), fmt.Sprintf(job.LogLost, 7), fmt.Sprintf(job.LogEnded, "full", "free some")} {
		x := &logIndex{}
		_, _, gap, err := x.extend(t.Context(), readerOf([]job.LogLine{pieceOf(1, job.Stdout, "one\n"+text), pieceOf(1, job.Log, "belfry: so many\n"+text)}, 9), allStreams)
		if err != nil || gap != 4 {
			t.Errorf("%q: line %d, %v", text, gap, err)
		}
	}
}

func TestLogLines(t *testing.T) {
	pieces := []job.LogLine{
		pieceOf(1, job.Log, "started\n"),
		pieceOf(1, job.Stdout, "one\nhalf a "),
		pieceOf(1, job.Stderr, "\x1b[31mno \x1b[1mdisk\n"),
		pieceOf(1, job.Stdout, "line\nnever ended"),
		pieceOf(2, job.Stdout, "two\n"),
		pieceOf(2, job.Stderr, "10 %\r90 %\nSomeError: it failed\n"),
		pieceOf(2, job.Stdout, "open"),
	}
	ctx := t.Context()
	for most := 1; most < 8; most++ {
		x, read := &logIndex{}, readerOf(pieces, most)
		if _, _, _, err := x.extend(ctx, read, allStreams); err != nil {
			t.Fatal(err)
		}
		rows, err := x.rows(ctx, read, allStreams, 0, 100)
		want := []string{"1 log started", "2 stdout one", "3 stdout half a line", "4 stderr no disk", "5 stdout never ended", "6 stdout two", "7 stderr 90 %", "8 stderr SomeError: it failed", "9 stdout open"}
		if got := texts(rows); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d at a time: %q, %v", most, got, err)
		}
		if x.bad != 8 {
			t.Errorf("the first error is in line %d", x.bad)
		}
		for i, l := range rows {
			if l.open != (i == 8) {
				t.Errorf("line %d is open: %v", l.number(), l.open)
			}
		}
		if rows[7].inks()[0].Class != "" {
			t.Errorf("an attempt begins with the colours of the one before: %q", rows[7].inks())
		}
		rows, err = x.rows(ctx, read, streamSet{1: true}, 1, 2)
		if got := texts(rows); err != nil || !slices.Equal(got, want[6:8]) {
			t.Errorf("%d at a time, of stderr: %q, %v", most, got, err)
		}
		found, all, err := find(ctx, read, allStreams, "N", 2)
		if got := texts(found); err != nil || all != 5 || !slices.Equal(got, []string{want[1], want[2]}) {
			t.Errorf("%d at a time, found: %d, %q, %v", most, all, got, err)
		}
	}
}

// Whatever part of a log is read, its lines are those of the whole.
func TestLogLinesFromAnyPlace(t *testing.T) {
	var pieces []job.LogLine
	ctx, x := t.Context(), &logIndex{}
	for i := range 3000 {
		text := fmt.Sprintf("\x1b[3%dmpiece %d", i%8, i)
		if rand.N(3) > 0 {
			text += strings.Repeat(fmt.Sprintf("\nline of %d", i), rand.N(4)) + "\n"
		}
		pieces = append(pieces, pieceOf(1+i/1500, streams[rand.N(3)], text))
		if rand.N(100) == 0 {
			if _, _, _, err := x.extend(ctx, readerOf(pieces, 7), allStreams); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := readerOf(pieces, 7)
	if _, _, _, err := x.extend(ctx, read, allStreams); err != nil {
		t.Fatal(err)
	}
	if len(x.marks) < 3 {
		t.Fatalf("%d marks", len(x.marks))
	}
	show := func(rows []*logged) (out []string) {
		for _, l := range rows {
			out = append(out, fmt.Sprint(l.number(), l.inks(), l.open))
		}
		return out
	}
	for _, set := range []streamSet{allStreams, {true}, {1: true, 2: true}} {
		rows, err := (&logIndex{}).rows(ctx, read, set, 0, 1<<30)
		if err != nil || len(rows) != x.at.lines.of(set) {
			t.Fatalf("%d lines, %v; counted %d", len(rows), err, x.at.lines.of(set))
		}
		whole := show(rows)
		for range 200 {
			from := rand.N(len(whole))
			rows, err := x.rows(ctx, read, set, from, 40)
			if want := whole[from:min(len(whole), from+40)]; err != nil || !slices.Equal(show(rows), want) {
				t.Fatalf("from %d: %q, want %q; %v", from, show(rows), want, err)
			}
		}
	}
}

func TestLogIndexesAreBounded(t *testing.T) {
	var s logIndexes
	first := s.of(logID{job: 1})
	for i := range int64(3 * logsKnown) {
		s.of(logID{job: i})
		if s.of(logID{job: 1}) != first {
			t.Fatal("one that is looked at all the time is forgotten")
		}
	}
	if len(s.known) != logsKnown || len(s.order) != logsKnown {
		t.Errorf("%d and %d are kept", len(s.known), len(s.order))
	}
}
