package console_test

import (
	"bufio"
	"bytes"
	format "debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// runnable is a program for arm64.
func runnable(rest string) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, format.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(format.ELFCLASS64), byte(format.ELFDATA2LSB), byte(format.EV_CURRENT)},
		Type:  uint16(format.ET_EXEC), Machine: uint16(format.EM_AARCH64), Version: uint32(format.EV_CURRENT), Entry: 0x1000,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	})
	_ = binary.Write(&b, binary.LittleEndian, format.Prog64{Type: uint32(format.PT_LOAD)})
	b.WriteString(rest)
	return b.Bytes()
}

// withFile is the form of a page as a browser without scripts sends it: the file first, and an empty one if none was chosen.
func withFile(v *visitor, page, action string, file []byte, more ...string) (body []byte, kind string) {
	v.Helper()
	if !strings.Contains(page, `enctype="multipart/form-data"`) || !strings.Contains(page, `<input type="file" name="file"`) {
		v.Fatalf("the form sends no file: %s", words(page))
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	name := ""
	if file != nil {
		name = "report"
	}
	part := must(w.CreatePart(map[string][]string{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}}))(v.site)
	_, _ = part.Write(file)
	fields := fieldsOf(v, page, action, more...)
	delete(fields, "file")
	for name, values := range fields {
		_ = w.WriteField(name, values[0])
	}
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// sendFile sends the form at a path with a file, and follows where it leads.
func (v *visitor) sendFile(page, action string, file []byte, more ...string) (int, string) {
	v.Helper()
	body, kind := withFile(v, page, action, file, more...)
	return v.sendBody(action, kind, v.url, bytes.NewReader(body))
}

func (v *visitor) sendBody(path, kind, origin string, body io.Reader) (int, string) {
	v.Helper()
	r := must(http.NewRequestWithContext(v.Context(), "POST", v.url+path, body))(v.site)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Origin", origin)
	answer := must(v.http.Do(r))(v.site)
	defer answer.Body.Close()
	return answer.StatusCode, string(must(io.ReadAll(answer.Body))(v.site))
}

// A program is uploaded by a form alone. A form with a fault keeps its fields, and a file that was stored is not sent again.
func TestProgramIsUploadedWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	_, page := v.get("/programs/-new")
	if strings.Contains(page, "<noscript") {
		t.Error("the page asks for scripts")
	}
	program := runnable(strings.Repeat("far more than a form may have ", 200_000))
	status, page := v.sendFile(page, "/programs/-new", program, "name", "no name", "program.args", "-v", "program.network", "true")
	if status != http.StatusUnprocessableEntity || !strings.Contains(page, "is uploaded already") || !strings.Contains(page, digest(program)) {
		t.Fatalf("%d %s", status, words(page))
	}
	if faults := faultsOf(t, page); faults["name"] != "no name" {
		t.Errorf("faults %v", faults)
	}
	if held := fieldsOf(v, page, "/programs/-new"); held.Get("program.args") != "-v" || held.Get("program.network") != "true" || held.Get("program.arch") != "arm64" {
		t.Errorf("held %v", held)
	}
	status, page = v.sendFile(page, "/programs/-new", nil, "name", "report")
	if status != http.StatusOK || !strings.Contains(page, "Saved program report") {
		t.Fatalf("%d %s", status, words(page))
	}
	g := must(s.Task(t.Context(), "default", "report"))(s).Program
	if g.SHA256 != digest(program) || g.Size != int64(len(program)) || g.Arch != "arm64" || len(g.Args) != 1 || !g.Network {
		t.Errorf("%+v", g)
	}
	a := must(s.Artifact(t.Context(), "default", g.SHA256))(s)
	if a.PostedAt.IsZero() || a.Size != g.Size {
		t.Errorf("%+v", a)
	}

	_, page = v.get("/programs/report/upload")
	second := runnable("second")
	if status, page = v.sendFile(page, "/programs/report/upload", second); status != http.StatusOK || !strings.Contains(page, digest(second)) {
		t.Fatalf("%d %s", status, words(page))
	}
	if g = must(s.Task(t.Context(), "default", "report"))(s).Program; g.SHA256 != digest(second) || len(g.Args) != 1 {
		t.Errorf("%+v", g)
	}
	_, page = v.get("/programs/-new")
	if status, page = v.sendFile(page, "/programs/-new", second, "name", "again"); status != http.StatusOK { // bytes that are there
		t.Errorf("%d %s", status, words(page))
	}
}

// A refused file stores nothing, and the form comes back as it was typed.
func TestRefusedProgramsWithoutScripts(t *testing.T) {
	t.Parallel()
	folder := ""
	s := newSite(t, func(c *config.Config) { folder = filepath.Dir(c.Database) })
	must(s.SaveNamespace(t.Context(), access.Namespace{Name: "small", Quota: access.Quota{ArtifactBytes: 10}}))(s)
	v := s.visitor(s.admin)
	refused := func(what, at string, file []byte, status int, says ...string) {
		t.Helper()
		_, page := v.get(at)
		got, page := v.sendFile(page, at, file, "name", "typed", "program.args", "-typed")
		if got != status {
			t.Errorf("%s: %d %s", what, got, words(page))
		}
		for _, text := range says {
			if !strings.Contains(words(page), text) {
				t.Errorf("%s: %q is not in %s", what, text, words(page))
			}
		}
		if held := fieldsOf(v, page, at); held.Get("name") != "typed" || held.Get("program.args") != "-typed" || held.Get("program.sha256") != "" {
			t.Errorf("%s: held %v", what, held)
		}
	}
	const again = "Choose the file again: a browser does not keep it."
	refused("no file", "/programs/-new", nil, http.StatusUnprocessableEntity, "No program was uploaded", again)
	refused("an empty file", "/programs/-new", []byte{}, http.StatusUnprocessableEntity, "it is empty", again)
	refused("a text", "/programs/-new", []byte("notes"), http.StatusUnprocessableEntity, "The file is not a program for Linux", again)
	refused("a script", "/programs/-new", []byte("#!/bin/sh\n"), http.StatusUnprocessableEntity, "programs are compiled", again)
	refused("a quota", "/programs/-new?namespace=small", runnable(""), http.StatusTooManyRequests, "artifact_bytes", again)

	body, kind := withFile(v, must2(v.get("/programs/-new")), "/programs/-new", runnable("x"), "name", "typed")
	if status, page := v.sendBody("/programs/-new", kind, "https://elsewhere.example", bytes.NewReader(body)); status != http.StatusForbidden {
		t.Errorf("from another origin: %d %s", status, words(page))
	}
	reader, _ := s.token("reader", "default", access.ScopeRead)
	if status, page := s.visitor(reader).sendBody("/programs/-new", kind, s.url, bytes.NewReader(body)); status != http.StatusForbidden {
		t.Errorf("with a token that may not: %d %s", status, words(page))
	}
	if status, page := s.visitor("").sendBody("/programs/-new", kind, s.url, bytes.NewReader(body)); status != http.StatusUnauthorized {
		t.Errorf("without a session: %d %s", status, words(page))
	}
	for _, namespace := range []string{"default", "small"} {
		if all := must(s.Artifacts(t.Context(), view.DocumentFilter{Namespace: namespace}))(s); len(all.Items) > 0 {
			t.Errorf("stored in %s: %+v", namespace, all.Items)
		}
	}
	if files := filesBelow(t, filepath.Join(folder, "artifacts", "default", "sha256")); len(files) > 0 {
		t.Errorf("bytes are stored: %v", files)
	}
	if status, page := v.sendBody("/programs/-new", kind, s.url, bytes.NewReader(body[:len(body)-20])); status != http.StatusUnprocessableEntity || !strings.Contains(page, "could not be read") {
		t.Errorf("a form without its end: %d %s", status, words(page))
	}
	long, kind := withFile(v, must2(v.get("/programs/-new")), "/programs/-new", runnable("x"), "program.args", strings.Repeat("x", 300<<10))
	if status, page := v.sendBody("/programs/-new", kind, s.url, bytes.NewReader(long)); status != http.StatusRequestEntityTooLarge || !strings.Contains(page, "The form is over its limit") {
		t.Errorf("a long field: %d %s", status, words(page))
	}
	if status, page := v.get("/programs"); status != http.StatusOK || !strings.Contains(page, "Upload a program") {
		t.Errorf("%d %s", status, words(page))
	}
}

// A file over the limit is read to its end, so that the browser sees the answer.
func TestTooLargeProgramWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	body, kind := withFile(v, must2(v.get("/programs/-new")), "/programs/-new", []byte("MARK"), "name", "typed")
	before, after, _ := bytes.Cut(body, []byte("MARK"))
	status, page := v.sendBody("/programs/-new", kind, s.url, io.MultiReader(bytes.NewReader(before), io.LimitReader(zeroes{}, task.MaxArtifact+1), bytes.NewReader(after)))
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(page, "The file is over the limit of 1 GiB") || fieldsOf(v, page, "/programs/-new").Get("name") != "typed" {
		t.Errorf("%d %s", status, words(page))
	}
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// A node that cannot keep the file says so at the form.
func TestProgramWithoutScriptsOnANodeWithoutAPlace(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *config.Config) { c.StateDir = blocked })
	v := s.visitor(s.admin)
	status, page := v.sendFile(must2(v.get("/programs/-new")), "/programs/-new", runnable("x"), "name", "typed")
	if status != http.StatusServiceUnavailable || !strings.Contains(page, "cannot keep what is uploaded") || !strings.Contains(page, "state_dir") || strings.Contains(page, blocked) ||
		fieldsOf(v, page, "/programs/-new").Get("name") != "typed" {
		t.Errorf("%d %s", status, words(page))
	}
}

// Clients that leave in the middle of a file leave neither bytes nor records, and no place that they hold.
func TestClientsThatLeaveAnUploadLeaveNothing(t *testing.T) {
	t.Parallel()
	folder := ""
	s := newSite(t, func(c *config.Config) { folder = filepath.Dir(c.Database) })
	v := s.visitor(s.admin)
	page := must2(v.get("/programs/-new"))
	program := runnable(strings.Repeat("left ", 100_000))
	body, kind := withFile(v, page, "/programs/-new", program, "name", "left")
	address := must(url.Parse(s.url))(s).Host
	cookie := v.cookies()
	for i := range 20 { // more than are received at once
		conn := must(net.Dial("tcp", address))(s)
		fmt.Fprintf(conn, "POST /programs/-new HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", address, s.url, kind, len(body))
		for _, c := range cookie {
			fmt.Fprintf(conn, "Cookie: %s=%s\r\n", c.Name, c.Value)
		}
		_, _ = conn.Write([]byte("\r\n"))
		_, _ = conn.Write(body[:len(body)*(i+1)/21])
		if i%2 == 0 {
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = http.ReadResponse(bufio.NewReader(conn), nil) // the node has seen the end
		}
		_ = conn.Close()
	}
	other := runnable("other")
	for status, answer := 0, ""; status != http.StatusOK; {
		if status, answer = v.sendFile(page, "/programs/-new", other, "name", "other"); status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatalf("%d %s", status, words(answer))
		}
	}
	if _, err := s.Artifact(t.Context(), "default", digest(program)); core.CodeOf(err) != core.NotFound {
		t.Errorf("the artifact is there: %v", err)
	}
	if files := filesBelow(t, filepath.Join(folder, "artifacts")); len(files) != 2 { // the key, and the other program
		t.Errorf("files %v", files)
	}
	if files := filesBelow(t, filepath.Join(folder, "belfry.state", "uploads")); len(files) > 0 {
		t.Errorf("files %v", files)
	}
}

// filesBelow are the files in a folder and the folders in it.
func filesBelow(t *testing.T, folder string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

func must2(_ int, page string) string { return page }

// A browser without scripts uploads a program, sees a fault, and gets its fields back.
func TestBrowserWithoutScriptsUploadsAProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := t.TempDir()
	notes, program := filepath.Join(dir, "notes.txt"), filepath.Join(dir, "my report")
	content := runnable(strings.Repeat("pieces ", 500_000))
	for path, text := range map[string][]byte{notes: []byte("notes"), program: content} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := s.tab(s.admin)
	b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.Visit(s.url + "/programs/-new")
	choose := func(path string) {
		t.Helper()
		var at struct{ Result struct{ ObjectID string } }
		b.Call("Runtime.evaluate", map[string]any{"expression": `document.querySelector('#file')`}, &at)
		b.Call("DOM.setFileInputFiles", map[string]any{"files": []string{path}, "objectId": at.Result.ObjectID}, nil)
	}
	put(b, "#f-name", "report")
	choose(notes)
	b.Follow("button.main")
	b.Shows("The file is not a program for Linux", "Choose the file again")
	b.Until(`document.querySelector('#f-name').value === 'report'`)
	choose(program)
	b.Follow("button.main")
	b.Shows("Saved program report", "uploaded", digest(content), "arm64")
	b.Quiet(s.url, http.StatusUnprocessableEntity)
}
