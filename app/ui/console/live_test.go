package console_test

import (
	"testing"

	"github.com/belfry-run/belfry/schedule"
)

// What changes on a page waits until no button is held down: it would get the
// click that was meant for something else.
func TestNothingMovesUnderTheHand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/settings/tokens")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	b.Eval(`(() => { const real = fetch; window.answers = 0;
		window.fetch = async (...of) => { const answer = await real(...of), text = await answer.text(); answers++; return {ok: answer.ok, redirected: answer.redirected, text: async () => text}; };
		return true; })()`, new(bool))
	hold := func(kind string) {
		b.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": 400, "y": 300, "button": "left", "clickCount": 1}, nil)
	}
	hold("mousePressed")
	s.token("ci", "default", "read")
	b.Until(`answers > 0`)
	var there bool
	if b.Eval(`document.getElementById('list').innerText.includes('ci')`, &there); there {
		t.Error("the list has changed while the button was down")
	}
	hold("mouseReleased")
	// What the pointer is over stays as it is; the list goes on once it has left.
	b.Call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": 1, "y": 1}, nil)
	b.Until(`document.getElementById('list').innerText.includes('ci')`)
	b.Quiet(s.url)
}

// Who answers a question about one row is not interrupted by another row.
func TestQuestionStaysOpenWhileRowsMove(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, first := s.token("first", "default", "read")
	_, second := s.token("second", "default", "read")
	b := s.at("/settings/tokens")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	asks, row := "revoke-"+numberText(second), "token-"+numberText(first)
	opens(b, asks)
	if err := s.RevokeToken(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	b.Until(`document.getElementById('` + row + `').innerText.includes('revoked')`)
	var open bool
	if b.Eval(`document.getElementById('`+asks+`').matches(':popover-open')`, &open); !open {
		t.Fatal("the question about the second token is gone, because the first was revoked")
	}
	s.sends(b, "#"+asks+" button.danger", "Token "+numberText(second)+" is revoked")
}

// Behind one address nodes of two versions may answer in turns. The older one does not know
// of parts and sends the page, after which the newer one must not take the page for the one
// that it sent before.
func TestAPageOfNodesOfTwoVersionsIsUpToDate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/calendars")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	b.Eval(`(() => { const real = fetch; window.old = false; window.answers = 0;
		window.fetch = async (at, options) => {
			if (old) delete options.headers['X-Belfry-Parts'];
			const answer = await real(at, options);
			answers++;
			return answer;
		};
		return true; })()`, new(bool))
	b.Eval(`dispatchEvent(new CustomEvent('belfry:refresh', {detail: false}))`, new(bool))
	b.Until(`answers > 0`)
	b.Eval(`old = true`, new(bool))
	must(s.SaveCalendar(t.Context(), schedule.Calendar{Name: "nights"}))(s)
	b.Until(`document.getElementById('list').innerText.includes('nights')`)
	b.Eval(`(old = false, true)`, new(bool))
	if err := s.DeleteCalendar(t.Context(), "default", "nights"); err != nil {
		t.Fatal(err)
	}
	b.Until(`!document.getElementById('list').innerText.includes('nights')`)
	b.Quiet(s.url)
}
