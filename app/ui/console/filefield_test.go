package console_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// crowded returns the texts that the outline of the focused field, and 2 pixels around it, touch.
const crowded = `(() => {
	const f = document.activeElement, s = getComputedStyle(f), r = f.getBoundingClientRect();
	const out = parseFloat(s.outlineWidth) + parseFloat(s.outlineOffset) + 2, touched = [];
	if (s.outlineStyle === 'none') return ['no outline'];
	for (const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT); walk.nextNode();) {
		if (!walk.currentNode.data.trim() || f.contains(walk.currentNode)) continue;
		const range = document.createRange();
		range.selectNodeContents(walk.currentNode);
		for (const t of range.getClientRects())
			if (t.width && t.left < r.right + out && t.right > r.left - out && t.top < r.bottom + out && t.bottom > r.top - out) touched.push(walk.currentNode.data);
	}
	return touched;
})()`

func TestTheOutlineOfAFileFieldTouchesNoText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/programs/-new")
	for _, path := range []string{"/programs/-new", "/status-pages/-new"} {
		for _, width := range []int{1280, 400} {
			b.Emulate("light", width)
			b.Visit(s.url + path)
			b.Eval(`document.querySelectorAll('input[type=file]')[0].closest('details')?.setAttribute('open', ''), true`, new(bool))
			b.Eval(`document.querySelector('input[type=file]').focus({focusVisible: true}), true`, new(bool))
			picture(b, "file-field"+strings.ReplaceAll(path, "/", "-")+"-"+strconv.Itoa(width))
			var touched []string
			b.Eval(crowded, &touched)
			if len(touched) > 0 {
				t.Errorf("%s at %d pixels: the outline touches %q", path, width, touched)
			}
		}
	}
}

// The label of a box stands beside it, and not below.
func TestLabelsStandBesideTheirBoxes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/")
	for _, width := range []int{1200, 400, 360} {
		b.Emulate("light", width)
		b.Visit(s.url + "/programs/-new")
		var beside []bool
		b.Eval(`[...document.querySelectorAll('.field > input[type=checkbox]')].map(e => {
			const box = e.getBoundingClientRect(), label = e.labels[0].getBoundingClientRect();
			return label.left >= box.right && label.top < box.bottom && label.bottom > box.top; })`, &beside)
		if len(beside) == 0 || slices.Contains(beside, false) {
			t.Errorf("at %d pixels: %v", width, beside)
		}
	}
}
