package console_test

import (
	"testing"
)

func TestCalendarIsMadeEditedAndDeleted(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/calendars/-new")
	b.Type("#f-name", "nights")
	put(b, "#text-1", "SOMEDAY")
	b.Follow("button.main")
	b.Quiet(s.url, 422, 400)
	b.Shows("SOMEDAY")
	if b.Text(".closing .fault") == "" {
		t.Error("nothing stands at the closing")
	}
	picture(b, "calendar-fault")
	b.Layout()
	b.Axe()
	put(b, "#text-1", "SAT-SUN")
	b.Follow("button.main")
	b.Quiet(s.url, 422, 400)
	b.Shows("is taken")
	put(b, "#f-name", "free")
	put(b, "#reason-1", "weekend")
	b.Follow("button[value=closing]")
	put(b, "#kind-2", "dates")
	put(b, "#text-2", "12-24..12-26")
	s.sends(b, "button.main", "Calendar free is saved.", "weekend", "12-24..12-26", "Year to come")
	b.Follow("a[href$='/calendars/free/edit']")
	put(b, "#text-2", "12-24..01-02")
	s.sends(b, "button.main", "12-24..01-02")
	if c := must(s.Calendar(t.Context(), "", "free"))(s); len(c.Closings) != 2 || c.Closings[0].Name != "weekend" || c.Closings[1].Dates != "12-24..01-02" {
		t.Errorf("%+v", c)
	}
	opens(b, "delete")
	b.Follow("#delete button[class=danger]")
	b.Quiet(s.url, 404) // the page that was left may have looked once more
	b.Shows("Calendar free is deleted.", "nights")
}
