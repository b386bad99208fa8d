package console_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/task"
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
	t.Parallel()
	s := newSite(t)
	b := s.at("/programs/-new")
	b.Follow("nav a[href='/programs']")
	b.Visit(s.url + "/programs/-new")
	b.Until(`document.querySelector('form[data-ready]')`)
	b.Click("button.main")
	b.Until(`document.getElementById('upload-says').textContent === 'Choose a file first.'`)
	first := elf(strings.Repeat("first ", 20_000)) // several pieces
	drop(b, "my report", first)
	b.Until(`document.getElementById('upload-says').textContent.includes('for arm64')`)
	picture(b, "upload-chosen")
	b.Layout()
	b.Axe()
	s.sends(b, "button.main", "Saved program my-report", "uploaded", digest(first), "arm64", "It has not run yet.")
	g := must(s.Task(t.Context(), "default", "my-report"))(s).Program
	if g.SHA256 != digest(first) || g.Size != int64(len(first)) || g.Arch != "arm64" {
		t.Errorf("%+v", g)
	}

	opens(b, "run")
	s.sends(b, "#run button.main", "is asked to run, as job")

	b.Visit(s.url + "/programs/my-report/upload")
	second := elf("second")
	drop(b, "report", second)
	b.Until(`document.getElementById('upload-says').textContent.includes('for arm64')`)
	s.sends(b, "button.main", digest(second), "Versions", digest(first)[:12], "other bytes")
	for _, width := range []int{1200, 360} {
		b.Emulate("light", width)
		b.Layout()
		picture(b, fmt.Sprintf("program-%d", width))
	}
	b.Axe()
	b.Emulate("dark", 1200)
	b.Visit(s.url + "/programs")
	b.Shows("my-report", digest(second)[:12], "uploaded")
	b.Layout()
	picture(b, "programs-dark")
	b.Axe()
	b.Quiet(s.url)
}

func TestProgramThatWaitsSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateTask(t.Context(), task.Task{Name: "early", Program: &task.Program{SHA256: digest([]byte("x")), Size: 1}}))(s)
	b := s.at("/programs/early")
	b.Shows("Its bytes are not here yet", "upload them", "pending upload")
	b.Quiet(s.url)
	b.Visit(s.url + "/programs/-new")
	drop(b, "notes.txt", []byte("no program"))
	b.Until(`document.getElementById('upload-says').textContent.includes('may not start')`)
	b.Visit(s.url + "/programs/nothing")
	b.Shows("Not here")
}

// The digest of the script is the one of everybody, whatever the size.
func TestDigestOfTheScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/")
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

// bucket is the part of an S3 service that an upload needs, with the CORS
// rules that the guide asks for.
func bucket(t *testing.T, allowed *atomic.Value) (address string) {
	t.Helper()
	var mu sync.Mutex
	kept := map[string][]byte{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if origin := r.Header.Get("Origin"); origin == allowed.Load() {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Methods", "PUT")
			w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		}
		switch r.Method {
		case http.MethodPut:
			body, err := io.ReadAll(r.Body)
			sum := sha256.Sum256(body)
			if err != nil || r.Header.Get("X-Amz-Checksum-Sha256") != base64.StdEncoding.EncodeToString(sum[:]) || r.Header.Get("If-None-Match") != "*" {
				t.Errorf("%d bytes were sent with %v: %v", len(body), r.Header, err)
			}
			kept[r.URL.Path] = body
		case http.MethodHead:
			body, is := kept[r.URL.Path]
			if !is {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			sum := sha256.Sum256(body)
			w.Header().Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
	}))
	t.Cleanup(service.Close)
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "belfry-test", "AWS_SECRET_ACCESS_KEY": "belfry-test-secret", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	return service.URL
}

func TestProgramGoesToABucketElsewhere(t *testing.T) {
	var allowed atomic.Value // origin
	address := bucket(t, &allowed)
	s := newSite(t, func(c *config.Config) { c.Artifacts = "s3://programs?endpoint=" + address })
	b := s.at("/programs/-new")
	program := elf(strings.Repeat("far ", 20_000))
	drop(b, "far", program)
	b.Until(`document.getElementById('upload-says').textContent.includes('for arm64')`)
	b.Click("button.main")
	b.Until(`document.getElementById('upload-says').textContent.includes('CORS rules of the bucket')`)
	b.Shows(address + " lets no page of " + s.url)
	allowed.Store(s.url)
	b.Beside = address
	b.Events = nil
	s.sends(b, "button.main", "Saved program far", "uploaded", digest(program))

	v := s.visitor(s.admin)
	plain := runnable("without scripts")
	if status, page := v.sendFile(must2(v.get("/programs/-new")), "/programs/-new", plain, "name", "plain"); status != http.StatusOK || !strings.Contains(page, digest(plain)) {
		t.Errorf("without scripts: %d %s", status, words(page))
	}

	// Pages that upload may send there, and no other.
	for path, may := range map[string]bool{"/programs/-new": true, "/programs/far/upload": true, "/programs/far": false, "/programs": false, "/": false} {
		if policy := v.policy(path); strings.Contains(policy, "connect-src 'self' "+address+";") != may || !may && !strings.Contains(policy, "connect-src 'self';") {
			t.Errorf("%s: %s", path, policy)
		}
	}
	near := newSite(t)
	if policy := near.visitor(near.admin).policy("/programs/-new"); !strings.Contains(policy, "connect-src 'self';") {
		t.Errorf("a node that keeps artifacts itself: %s", policy)
	}
}

// policy is what a page may do.
func (v *visitor) policy(path string) string {
	v.Helper()
	resp, err := v.http.Get(v.url + path)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		v.Errorf("%s answers %d", path, resp.StatusCode)
	}
	return resp.Header.Get("Content-Security-Policy")
}
