package console_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/ui/internal/browser"
)

// drop drops a file onto the page, as a person does.
func drop(b *browser.Tab, name string, content []byte) {
	b.T.Helper()
	b.Until(`document.querySelector('form[data-ready]')`)
	var ok bool
	b.Eval(`(() => {
		const bytes = Uint8Array.from(atob(`+strconv.Quote(base64.StdEncoding.EncodeToString(content))+`), c => c.charCodeAt(0));
		const all = new DataTransfer();
		all.items.add(new File([bytes], `+strconv.Quote(name)+`));
		document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: all, bubbles: true, cancelable: true}));
		return true;
	})()`, &ok)
}

// elf begins like a program for arm64.
func elf(rest string) []byte {
	head := make([]byte, 20)
	copy(head, "\x7fELF\x02\x01\x01")
	head[18] = 183
	return append(head, rest...)
}

func TestProgramIsDroppedAndRuns(t *testing.T) {
	s := newSite(t)
	b := s.tab(s.admin)
	b.Visit(s.url + "/programs/new")
	b.Follow("a[href='/programs']")
	b.Visit(s.url + "/programs/new")
	b.Until(`document.querySelector('form[data-ready]')`)
	b.Click("button.main")
	b.Until(`document.getElementById('upload-says').textContent === 'Choose a file first.'`)
	first := elf(strings.Repeat("first ", 20_000)) // several pieces
	drop(b, "my report", first)
	b.Until(`document.getElementById('upload-says').textContent.includes('for arm64')`)
	picture(b, "upload-chosen")
	b.Layout()
	b.Axe()
	b.Follow("button.main")
	b.Quiet(s.url)
	b.Shows("Program my-report is there", "posted", digest(first), "arm64", "It has not run yet.")
	g := must(s.Task(t.Context(), "default", "my-report"))(s).Program
	if g.SHA256 != digest(first) || g.Size != int64(len(first)) || g.Arch != "arm64" {
		t.Errorf("%+v", g)
	}

	b.Click("button[popovertarget=run]")
	b.Until(`document.getElementById('run').matches(':popover-open')`)
	b.Follow("#run button.main")
	b.Quiet(s.url)
	b.Shows("is asked to run, as job")

	b.Visit(s.url + "/programs/my-report/upload")
	second := elf("second")
	drop(b, "report", second)
	b.Until(`document.getElementById('upload-says').textContent.includes('for arm64')`)
	b.Follow("button.main")
	b.Quiet(s.url)
	b.Shows(digest(second), "Versions", digest(first)[:12], "other bytes")
	for _, width := range []int{1200, 360} {
		b.Emulate("light", width)
		b.Layout()
		picture(b, fmt.Sprintf("program-%d", width))
	}
	b.Axe()
	b.Emulate("dark", 1200)
	b.Visit(s.url + "/programs")
	b.Shows("my-report", digest(second)[:12], "posted")
	b.Layout()
	picture(b, "programs-dark")
	b.Axe()
	b.Quiet(s.url)
}

func TestProgramThatWaitsSaysSo(t *testing.T) {
	s := newSite(t)
	must(s.CreateTask(t.Context(), belfry.Task{Name: "early", Program: &belfry.Program{SHA256: digest([]byte("x")), Size: 1}}))(s)
	b := s.tab(s.admin)
	b.Visit(s.url + "/programs/early")
	b.Shows("Its bytes are not here yet", "upload them", "waiting")
	b.Quiet(s.url)
	b.Visit(s.url + "/programs/new")
	drop(b, "notes.txt", []byte("no program"))
	b.Until(`document.getElementById('upload-says').textContent.includes('may not start')`)
	b.Visit(s.url + "/programs/nothing")
	b.Shows("Not here")
}

// The digest of the script is the one of everybody, whatever the size.
func TestDigestOfTheScript(t *testing.T) {
	s := newSite(t)
	b := s.tab(s.admin)
	for _, size := range []int{0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000} {
		text := strings.Repeat("a", size)
		var got string
		b.Eval(`import(document.querySelector('script').src.replace('main.js', 'sha256.js')).then(({Sha256}) => {
			const s = new Sha256(), all = new TextEncoder().encode(`+strconv.Quote(text)+`);
			for (let i = 0; i < all.length; i += 37) s.add(all.subarray(i, i + 37));
			return s.hex();
		})`, &got)
		if got != digest([]byte(text)) {
			t.Errorf("%d bytes: %s", size, got)
		}
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
