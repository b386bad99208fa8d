package console_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/app/ui/internal/browser"
)

// What tests do with a page, and read of it, beside what a tab can by itself.

// at is a tab of the admin, at a page.
func (s *site) at(path string) *browser.Tab {
	s.Helper()
	b := s.tab(s.admin)
	b.Visit(s.url + path)
	return b
}

// sends clicks what sends a form or leads elsewhere. Nothing goes wrong, and
// the page that comes of it says this.
func (s *site) sends(b *browser.Tab, selector string, says ...string) {
	b.T.Helper()
	b.Follow(selector)
	b.Quiet(s.url)
	b.Shows(says...)
}

// refused is sends where the page says why not.
func (s *site) refused(b *browser.Tab, selector string, status int, says ...string) {
	b.T.Helper()
	b.Follow(selector)
	b.Quiet(s.url, status)
	b.Shows(says...)
}

// opens clicks the button of what asks first, and waits until it asks.
func opens(b *browser.Tab, id string) {
	b.T.Helper()
	b.Click("button[popovertarget='" + id + "']")
	b.Until(`document.getElementById(` + strconv.Quote(id) + `).matches(':popover-open')`)
}

// jumps presses g and the letter of a page. The clock of the page stands still meanwhile: it waits 1.5 s for the letter,
// and a busy machine may need longer between two keys.
func jumps(b *browser.Tab, letter string) {
	b.T.Helper()
	b.Eval(`(now => { Date.now = () => now; return true; })(Date.now())`, new(bool))
	b.Key("g")
	b.Key(letter)
}

// put fills an input as its script would hear of it.
func put(b *browser.Tab, selector, value string) {
	b.T.Helper()
	var done bool
	b.Eval(`(() => { const e = document.querySelector(`+strconv.Quote(selector)+`); if (!e) return false;
		if (e.type === 'checkbox') e.checked = `+strconv.FormatBool(value == "true")+`; else e.value = `+strconv.Quote(value)+`;
		e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`, &done)
	if !done {
		b.T.Fatalf("there is no %s to fill", selector)
	}
}

// value is what stands in an input.
func value(b *browser.Tab, selector string) (text string) {
	b.T.Helper()
	b.Eval(`document.querySelector(`+strconv.Quote(selector)+`).value`, &text)
	return text
}

// says fails the test unless an element has these texts, unfolded or not.
func says(b *browser.Tab, selector string, texts ...string) {
	b.T.Helper()
	var all string
	b.Eval(`[...document.querySelectorAll(`+strconv.Quote(selector)+`)].map(e => e.textContent).join('\n')`, &all)
	for _, text := range texts {
		if !strings.Contains(all, text) {
			b.T.Errorf("%s does not say %q:\n%s", selector, text, all)
		}
	}
}

// picture keeps one in the folder that BELFRY_SCREENSHOTS names, if any.
func picture(b *browser.Tab, name string) {
	if dir := os.Getenv("BELFRY_SCREENSHOTS"); dir != "" {
		b.Screenshot(filepath.Join(dir, "console-"+name+".png"))
	}
}
