package fresh

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// page is what a script has of its parts; it does as live.js does.
type page map[string]struct{ digest, text string }

func (p page) known() string {
	var all []string
	for id, part := range p {
		all = append(all, id+"="+part.digest)
	}
	return strings.Join(all, " ")
}

func (p page) take(t interface{ Fatalf(string, ...any) }, answer []byte) (changed, same int) {
	var got struct {
		Parts map[string]struct {
			Digest, HTML, From string
			Course             []json.RawMessage
		}
		Same []string
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	for id, u := range got.Parts {
		text := u.HTML
		if u.From != "" {
			if u.From != p[id].digest {
				t.Fatalf("part %s is made from %s, the page has %s", id, u.From, p[id].digest)
			}
			old := pieces(p[id].text)
			for _, step := range u.Course {
				var added string
				var run [2]int
				if json.Unmarshal(step, &added) == nil {
					text += added
				} else if err := json.Unmarshal(step, &run); err != nil || run[0]+run[1] > len(old) {
					t.Fatalf("step %s of %d pieces", step, len(old))
				} else {
					text += strings.Join(old[run[0]:run[0]+run[1]], "")
				}
			}
		}
		p[id] = struct{ digest, text string }{u.Digest, text}
	}
	return len(got.Parts), len(got.Same)
}

func answer(t *testing.T, m *Memory, reader, known, page string) []byte {
	t.Helper()
	out, err := m.Answer(reader, known, []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPartsAreFoundAsTheyStand(t *testing.T) {
	list := `<div class="a" id="list" data-every="10" data-live="job"><div>x<br></div><script>"</div>"</script><div><p data-live="x" id="inner">y</p></div></div>`
	section := `<section data-live id="b"><section>z</section></section>`
	got := Parts([]byte(`<!doctype html><main><div id="no">1</div>` + list + `<p data-live>2</p>` + section + `<div id="open" data-live>`))
	want := []Part{{"list", list}, {"b", section}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func rows(n int, changed ...int) string {
	var b strings.Builder
	b.WriteString(`<main><div id="states" data-live="job">tabs</div><div id="list" data-live="job"><table>`)
	for i := range n {
		state := "ready"
		for _, c := range changed {
			if c == i {
				state = "running"
			}
		}
		fmt.Fprintf(&b, "<tr id=\"job-%d\"><td><a href=\"/jobs/%d\">%d</a></td><td>%s</td><td>a long name of a task, the same in each row</td></tr>\n", i, i, i, state)
	}
	b.WriteString(`</table></div></main>`)
	return b.String()
}

func TestOnlyChangedFragmentsAreSent(t *testing.T) {
	var m Memory
	has := page{}
	first := answer(t, &m, "1", "", rows(50))
	if changed, same := has.take(t, first); changed != 2 || same != 0 {
		t.Fatalf("at first %d parts changed, %d stayed", changed, same)
	}
	if got := answer(t, &m, "1", has.known(), rows(50)); len(got) > 40 {
		t.Errorf("of a page that stayed it sends %s", got)
	}
	second := answer(t, &m, "1", has.known(), rows(50, 7, 30))
	if changed, same := has.take(t, second); changed != 1 || same != 1 {
		t.Fatalf("then %d parts changed, %d stayed", changed, same)
	}
	if want := Parts([]byte(rows(50, 7, 30)))[1].Text; has["list"].text != want {
		t.Errorf("the list became\n%s\nwant\n%s", has["list"].text, want)
	}
	if len(second)*20 > len(first) {
		t.Errorf("of two cells it sends %d bytes; the page has %d: %s", len(second), len(first), second)
	}
}

func TestFragmentsThatAreNotRememberedAreSentWhole(t *testing.T) {
	var m, other Memory
	has := page{}
	has.take(t, answer(t, &m, "1", "", rows(50)))
	for name, got := range map[string][]byte{
		"another node":   answer(t, &other, "1", has.known(), rows(50, 1)),
		"another reader": answer(t, &m, "2", has.known(), rows(50, 1)),
		"no digest":      answer(t, &m, "1", "list= states", rows(50, 1)),
	} {
		if strings.Contains(string(got), `"from"`) || !strings.Contains(string(got), "job-49") {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var m Memory
	text := strings.Repeat("x", 1<<20)
	first := m.keep("1", text)
	for i := range 40 {
		m.keep("1", fmt.Sprint(i)+text)
	}
	if _, there := m.supersede("1", first); there || m.size > mostRemembered || len(m.texts) != m.order.Len() || len(m.texts) > 16 {
		t.Errorf("%d bytes in %d texts, the first among them: %v", m.size, len(m.texts), there)
	}
}

// What many pages have now is remembered, however often each of them changes: of two
// texts that came after one another, the older one is forgotten first.
func TestManyPagesAreRememberedAsTheyAre(t *testing.T) {
	var m Memory
	const watched, size = 100, mostRemembered / 150
	line := "<p>" + strings.Repeat("a", size-3)
	pages := make([]page, watched)
	for round := range 5 {
		for i := range pages {
			if pages[i] == nil {
				pages[i] = page{}
			}
			text := fmt.Sprintf(`<main><div id="list" data-live="job"><b>%d</b><i>%d</i>%s</div></main>`, i, round, line)
			got := answer(t, &m, "1", pages[i].known(), text)
			if pages[i].take(t, got); round > 0 && len(got) > 1000 {
				t.Fatalf("in round %d page %d was sent whole", round, i)
			}
		}
	}
}

// Whatever two texts are, the course leads from one to the other.
func TestCoursesLeadToTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"<p>", "</p>", "<td>", "a", "b", "\n", "ü>", ">"}), 0, 40), func(s []string) string { return strings.Join(s, "") })
		old, now := text.Draw(t, "old"), text.Draw(t, "now")
		from, got := pieces(old), ""
		for _, step := range courseOf(from, pieces(now)) {
			switch step := step.(type) {
			case string:
				got += step
			case [2]int:
				got += strings.Join(from[step[0]:step[0]+step[1]], "")
			}
		}
		if got != now {
			t.Fatalf("got %q, want %q", got, now)
		}
	})
}
