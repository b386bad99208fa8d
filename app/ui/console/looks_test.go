package console_test

import "testing"

// The two versions of a page stand beside each other, a line high each, in wide windows and on phones.
func TestVersionsBesideEachOtherAreLines(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors/prices/diff?from=1&to=3")
	for _, width := range []int{1200, 360} {
		b.Emulate("light", width)
		var of struct{ Rows, Most float64 }
		b.Eval(`(() => { const all = [...document.querySelectorAll('.page-diff tbody tr')].map(r => r.getBoundingClientRect().height); return {rows: all.length, most: Math.max(...all)}; })()`, &of)
		var wide float64
		b.Eval(`document.querySelector('.page-diff').getBoundingClientRect().width / document.querySelector('.page-diff').closest('.scroll').clientWidth`, &wide)
		if wide < 0.95 {
			t.Errorf("at %d pixels it takes %.2f of the width", width, wide)
		}
		if of.Rows < 3 || of.Most < 10 || of.Most > 60 {
			t.Errorf("at %d pixels: %+v", width, of)
		}
	}

	// The tabs of all settings are one line beside the navigation.
	b.Emulate("light", 1200)
	b.Visit(s.url + "/settings/channels")
	var high float64
	b.Eval(`document.querySelector('nav.tabs.area').getBoundingClientRect().height`, &high)
	if high < 20 || high > 50 {
		t.Errorf("the tabs of settings are %v pixels high", high)
	}
}
