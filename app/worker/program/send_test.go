package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// left returns a sending of files whose uploads return the answers in turn, and then nil.
func left(files []string, answers map[string][]error) (s sending, got *[]string, waits *int) {
	got, waits = new([]string), new(int)
	for _, name := range files {
		s.outs = append(s.outs, task.Output{Name: name, Size: int64(len(name))})
	}
	s.walk = func(take func(string, int64, io.Reader) error) error {
		for _, name := range files {
			if err := take(name, int64(len(name)), strings.NewReader(name)); err != nil {
				return err
			}
		}
		return nil
	}
	s.upload = func(_ context.Context, o task.Output, content io.Reader) error {
		if left := answers[o.Name]; len(left) > 0 {
			answers[o.Name] = left[1:]
			return left[0]
		}
		text, err := io.ReadAll(content)
		*got = append(*got, string(text))
		return err
	}
	s.waits = func(error) { *waits++ }
	return s, got, waits
}

func TestOutputsWaitForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	away := core.Errorf(core.Unavailable, "the server is away")
	forbidden := core.Errorf(core.Forbidden, "no such key")
	full := core.Errorf(core.OverQuota, "there is no room")
	for name, c := range map[string]struct {
		answers map[string][]error
		want    string // files in the order in which they were sent
		why     string
		waits   int
	}{
		"none is away":               {nil, "[a b c]", "", 0},
		"the first tries":            {map[string][]error{"a": {away, away, away}}, "[a b c]", "", 1},
		"amid them":                  {map[string][]error{"b": {away}, "c": {core.Errorf(core.Unknown, "the answer is lost"), away}}, "[a b c]", "", 1},
		"a disk that takes nothing":  {map[string][]error{"a": {errors.New("no space left on device")}}, "[b c]", "a: no space left on device", 0},
		"a link is void":             {map[string][]error{"a": {forbidden}}, "[b c a]", "", 1},
		"links are void for a while": {map[string][]error{"a": {forbidden, forbidden, forbidden, forbidden, forbidden}, "b": {forbidden}}, "[c b a]", "", 1},
		"no link is good":            {map[string][]error{"a": {forbidden, forbidden, forbidden, forbidden, forbidden, forbidden}}, "[b c]", "a: no such key", 1},
		"one is refused":             {map[string][]error{"b": {full}}, "[a c]", "b: there is no room", 0},
		"refused after it was away":  {map[string][]error{"b": {away, full}}, "[a c]", "b: there is no room", 1},
		"the lease is lost":          {map[string][]error{"a": {core.Errorf(core.Conflict, "lost")}, "b": {core.Errorf(core.Unauthorized, "who?")}}, "[c]", "a: lost", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, got, waits := left([]string{"a", "b", "c"}, c.answers)
				kept, err := s.send(t.Context())
				why := ""
				if err != nil {
					why = err.Error()
				}
				if fmt.Sprint(*got) != c.want || len(kept) != len(*got) || why != c.why || *waits != c.waits {
					t.Errorf("sent %v, kept %v, %q, told %d times; want %s, %q, %d", *got, kept, why, *waits, c.want, c.why, c.waits)
				}
			})
		})
	}
}

func TestOutputsWaitNoLongerThanTheirAttempt(t *testing.T) {
	t.Parallel()
	never := make([]error, 1000)
	for i := range never {
		never[i] = core.Errorf(core.Unavailable, "the server is away")
	}
	for name, until := range map[string]time.Duration{"the attempt ends": 20 * time.Second, "it took too long": job.SendTime} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), until)
				defer cancel()
				s, got, _ := left([]string{"a", "b"}, map[string][]error{"b": never})
				begun := time.Now()
				kept, err := s.send(ctx)
				if took := time.Since(begun); took != until {
					t.Errorf("took %v", took)
				}
				if !errors.As(err, new(unsent)) {
					t.Errorf("%v counts as refused", err)
				}
				if len(kept) != 1 || kept[0].Name != "a" || len(*got) != 1 || err == nil || err.Error() != "b: the server is away" {
					t.Errorf("kept %v of %v: %v", kept, *got, err)
				}
			})
		})
	}
}

// An upload that the end of the attempt breaks off was not refused.
func TestAnUploadThatIsBrokenOffIsUnsent(t *testing.T) {
	t.Parallel()
	s, _, waits := left([]string{"a", "b"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s.upload = func(ctx context.Context, _ task.Output, _ io.Reader) error {
		cancel()
		return ctx.Err()
	}
	kept, err := s.send(ctx)
	if len(kept) != 0 || *waits != 0 || !errors.As(err, new(unsent)) {
		t.Errorf("kept %v, %v, waited %d times", kept, err, *waits)
	}
}

// A file that is skipped by the second look must not take those behind it with it.
func TestAFileThatIsNotThereAgainIsMissing(t *testing.T) {
	t.Parallel()
	s, _, _ := left([]string{"a", "b", "c"}, nil)
	walk := s.walk
	s.walk = func(take func(string, int64, io.Reader) error) error {
		return walk(func(name string, size int64, content io.Reader) error {
			if name == "b" {
				return nil
			}
			return take(name, size, content)
		})
	}
	kept, err := s.send(t.Context())
	if len(kept) != 2 || kept[1].Name != "c" || err == nil || err.Error() != "b: it cannot be read again" {
		t.Errorf("kept %v, %v", kept, err)
	}
}

// A file that ends before its size is no fault of the server: to send it again is in vain.
func TestAFileThatCannotBeReadIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s, _, waits := left([]string{"a", "b"}, nil)
	walk := s.walk
	s.walk = func(take func(string, int64, io.Reader) error) error {
		return walk(func(name string, size int64, content io.Reader) error {
			if name == "a" {
				content = io.MultiReader(content, broken{})
			}
			return take(name, size, content)
		})
	}
	kept, err := s.send(t.Context())
	if len(kept) != 1 || kept[0].Name != "b" || *waits != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("kept %v, %v, waited %d times", kept, err, *waits)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
