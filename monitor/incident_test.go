package monitor

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

func TestAcknowledge(t *testing.T) {
	t.Parallel()
	ann := Acknowledgement{By: "ann", At: at("10:00"), Note: "mine"}
	for _, row := range []struct {
		name string
		is   *Acknowledgement
		next Acknowledgement
		want Acknowledgement
		code core.Code
	}{
		{"the first", nil, ann, ann, ""},
		{"a note is trimmed", nil, Acknowledgement{By: "ann", Note: " a\x00b\n"}, Acknowledgement{By: "ann", Note: "ab"}, ""},
		{"the same again", &ann, Acknowledgement{By: "ann", At: at("11:00"), Note: "other"}, ann, ""},
		{"another", &ann, Acknowledgement{By: "bob"}, Acknowledgement{}, core.Conflict},
		{"a long note", nil, Acknowledgement{By: "ann", Note: strings.Repeat("x", core.MaxDescription+1)}, Acknowledgement{}, core.Invalid},
	} {
		got, err := Incident{ID: 7, Acknowledged: row.is}.Acknowledge(row.next)
		if core.CodeOf(err) != row.code || err == nil && got != row.want {
			t.Errorf("%s: %+v, %v", row.name, got, err)
		}
	}
}

func TestUpdatesAreChecked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		u       Update
		present int
		text    string
		code    core.Code
		says    string
	}{
		{"a note", Update{Text: " one\r\ntwo "}, 0, "one\ntwo", "", ""},
		{"a state", Update{Text: "x", State: IncidentResolved, Public: true}, MaxUpdates - 1, "x", "", ""},
		{"characters are counted", Update{Text: strings.Repeat("ü", MaxUpdateText)}, 0, strings.Repeat("ü", MaxUpdateText), "", ""},
		{"nothing", Update{Text: " \n\x00"}, 0, "", core.Invalid, "text"},
		{"too long", Update{Text: strings.Repeat("x", MaxUpdateText+1)}, 0, "", core.Invalid, "4000 characters"},
		{"no state", Update{Text: "x", State: "fixed"}, 0, "", core.Invalid, "investigating"},
		{"too many", Update{Text: "x"}, MaxUpdates, "", core.Conflict, "200 updates"},
	} {
		got, _, err := Incident{ID: 7, Updates: make([]Update, row.present)}.AddUpdate(row.u)
		switch {
		case core.CodeOf(err) != row.code:
			t.Errorf("%s: %v", row.name, err)
		case err != nil && !strings.Contains(err.Error(), row.says):
			t.Errorf("%s: %v does not say %q", row.name, err, row.says)
		case err == nil && (got.Text != row.text || got.Seq != row.present+1):
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

func TestARepeatedUpdateIsThereOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	is := Update{Seq: 1, At: at, Actor: "ann", State: IncidentIdentified, Text: "the disk is full"}
	i := Incident{Updates: []Update{is, {Seq: 2, At: at, Actor: "bob", Text: "on it"}}}
	for name, row := range map[string]struct {
		change   func(u *Update)
		existing bool
	}{
		"the same":               {func(*Update) {}, true},
		"of another person":      {func(u *Update) { u.Actor = "bob" }, false},
		"another text":           {func(u *Update) { u.Text = "it is empty" }, false},
		"another state":          {func(u *Update) { u.State = "" }, false},
		"for everyone":           {func(u *Update) { u.Public = true }, false},
		"said again later":       {func(u *Update) { u.At = at.Add(RepeatWithin) }, false},
		"just before it may be":  {func(u *Update) { u.At = at.Add(RepeatWithin - 1) }, true},
		"with spaces around it ": {func(u *Update) { u.Text = " the disk is full\r\n" }, true},
	} {
		u := is
		u.Seq = 0
		row.change(&u)
		got, existing, err := i.AddUpdate(u)
		if want := map[bool]int{true: 1, false: 3}[row.existing]; err != nil || existing != row.existing || got.Seq != want {
			t.Errorf("%s: %+v, %v, %v", name, got, existing, err)
		}
	}
}
