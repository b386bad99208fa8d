package core

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestErrorsForPeople(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		want string
	}{
		{Errorf(NotFound, "there is no task %q", "a"), `there is no task "a"`},
		{Errorf(NotFound, "there is no task %q", "a").WithHint("see: %s", "belfry task list"), `there is no task "a" (see: belfry task list)`},
		{&Error{Message: "task", Fields: []FieldError{{Field: "name", Message: "is missing"}}}, "task: name: is missing"},
		{&Error{Message: "task", Fields: []FieldError{{Field: "a", Value: "1", Message: "is bad", Hint: "use 2"}, {Field: "b", Message: "too"}}, Hint: "mend it"},
			`task: a "1": is bad (use 2); b: too (mend it)`},
		{&Error{Fields: []FieldError{{Field: "name", Message: "is missing"}}}, "name: is missing"},
		{InvalidField("name", "x", "is taken", ""), `invalid input: name "x": is taken`},
	} {
		if got := row.err.Error(); got != row.want {
			t.Errorf("got %s, want %s", got, row.want)
		}
	}
}

// A list that is too long is shown by its length, not by a number that looks like its value.
func TestAListThatIsTooLong(t *testing.T) {
	t.Parallel()
	var p Problems
	CheckTags(&p, strings.Split(strings.Repeat("x", MaxTags), ""))
	if len(p) > 0 {
		t.Errorf("%d tags are refused: %v", MaxTags, p)
	}
	CheckTags(&p, strings.Split(strings.Repeat("x", 40), ""))
	if got, want := fmt.Sprint(p.Err("task")), `task: tags "40 entries": has more than 32 entries`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestErrorsForMachines(t *testing.T) {
	t.Parallel()
	e := Errorf(Unavailable, "open %s: %w", "db", fs.ErrNotExist)
	if !errors.Is(e, fs.ErrNotExist) || e.Message != "open db: file does not exist" {
		t.Errorf("%v lost its cause", e)
	}
	for _, row := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{errors.New("x"), Internal},
		{e, Unavailable},
		{fmt.Errorf("claim: %w", e), Unavailable},
		{errors.Join(errors.New("x"), e), Unavailable},
		{InvalidField("a", "", "is bad", ""), Invalid},
		{ValidName("name", "a b"), Invalid},
	} {
		if got := CodeOf(row.err); got != row.want {
			t.Errorf("%v has code %q, want %q", row.err, got, row.want)
		}
	}
	if err := ValidName("name", "a.b_c-9"); err != nil {
		t.Error(err)
	}
}

func TestALongValueIsCutAtAWholeCharacter(t *testing.T) {
	t.Parallel()
	e := InvalidField("name", "x"+strings.Repeat("ж", 200), "is long", "")
	if got := e.Fields[0].Value; !utf8.ValidString(got) || len(got) > shownValue+len("…") || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}

func TestNestedFaultsKeepTheirPath(t *testing.T) {
	t.Parallel()
	var p Problems
	p.Nest("a", nil)
	p.Nest("b", errors.New("odd"))
	p.Nest("c[1]", InvalidField("name", "", "is bad", "mend it"))
	want := Problems{{Field: "b", Message: "odd"}, {Field: "c[1].name", Message: "is bad", Hint: "mend it"}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%v", p)
	}
}

func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{0: 50, 1: 1, -5: 1, 1000: 1000, 1001: 1000} {
		if got := (Paging{Limit: limit}).Bound(); got != want {
			t.Errorf("limit %d is %d, want %d", limit, got, want)
		}
	}
}

func TestMicro(t *testing.T) {
	t.Parallel()
	if !Micro(time.Time{}).IsZero() {
		t.Error("never became sometime")
	}
	got := Micro(time.Date(2026, 3, 2, 12, 0, 0, 123_456_789, time.FixedZone("", 7200)))
	if want := time.Date(2026, 3, 2, 10, 0, 0, 123_456_000, time.UTC); got != want {
		t.Error(got)
	}
}

func TestAnAddressIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"https://ann:secret@host/", "ftp://ann:secret@host/"} {
		var p Problems
		CheckURL(&p, "url", text, "http", "https")
		if len(p) != 1 || strings.Contains(p[0].String(), "secret") || strings.Contains(p[0].Hint, "into headers") {
			t.Errorf("%s: %v", text, p)
		}
	}
}
