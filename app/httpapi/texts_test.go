package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// ofPrograms are the operations whose texts programs wrote: the store takes their NULs out.
var ofPrograms = []string{"session-logs", "session-finish", "attempt-logs", "attempt-finish"}

// TestEveryTextWithNULIsRefusedByItsField puts a NUL in every text of every body, and in every place of every path.
// PostgreSQL would refuse them later and without a field, and SQLite would keep them.
func TestEveryTextWithNULIsRefusedByItsField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doc := b.server.api.Huma.OpenAPI()
	texts := textFields{schemas: doc.Components.Schemas}
	bodies, paths := 0, 0
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range api.OperationsOf(doc.Paths[path]) {
			address, body, kind := asked(path, op)
			if body == "{}" && !slices.Contains(ofPrograms, op.OperationID) && op.Security[0]["token"] != nil {
				for field, body := range texts.of(op.RequestBody.Content[kind].Schema) {
					bodies++
					status, _, text := b.raw(t, method, address, body, "Content-Type", kind)
					if status != 422 || !names(text, field) {
						t.Errorf("%s %s: %d %.300s, want the field %s", op.OperationID, body, status, text, field)
					}
				}
			}
			for _, name := range placeholder.FindAllString(path, -1) {
				for _, bad := range []string{"a%00b", "a%ffb"} {
					paths++
					at := placeholder.ReplaceAllString(strings.Replace(path, name, bad, 1), "1")
					status, _, text := b.raw(t, method, at, body, "Content-Type", kind)
					if status != 422 || !names(text, strings.Trim(name, "{}")) {
						t.Errorf("%s %s: %d %.300s", method, at, status, text)
					}
				}
			}
		}
	}
	if b.last() != nil || bodies < 500 || paths < 200 {
		t.Errorf("%v reached the service, of %d bodies and %d paths", b.last(), bodies, paths)
	}
	if status, _, text := b.raw(t, "POST", "/v1/jobs", `{"task":"t"}`, "Idempotency-Key", "a\xffb"); status != 422 || !names(text, "Idempotency-Key") {
		t.Errorf("a header: %d %s", status, text)
	}
}

func names(problem, field string) bool {
	var p wire.Problem
	_ = json.Unmarshal([]byte(problem), &p)
	return len(p.Errors) == 1 && p.Errors[0].Field == field
}

// A document of the caller's own is kept as it is written, and so are texts of programs.
func TestNULsThatAreKeptOrTakenOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if status, _, text := b.raw(t, "POST", "/v1/jobs", `{"task":"t","input":{"a\u0000":["b\u0000"]}}`); status >= 300 {
		t.Errorf("%d %s", status, text)
	}
	if got := string(b.last()[1].([]job.NewJob)[0].Input); got != `{"a\u0000":["b\u0000"]}` {
		t.Errorf("the input is %s", got)
	}
	b.tokens.sessions = map[string]int64{"s": b.tokens.known["root"].ID}
	if status, _, text := b.raw(t, "POST", "/v1/sessions/s/finish", `{"attempts":[{"job_id":1,"lease":1,"outcome":"error","error":"a\u0000b"}]}`); status >= 300 {
		t.Errorf("%d %s", status, text)
	}
}

// textFields finds the texts in schemas of bodies.
type textFields struct {
	schemas huma.Registry
	within  []string // schemas that are looked at
}

// of is a body for each text of a schema, with NUL in that text alone, by the name of its field.
func (f *textFields) of(s *huma.Schema) map[string]string {
	out := map[string]string{}
	f.walk(s, "", "%s", out)
	return out
}

func (f *textFields) walk(s *huma.Schema, path, body string, out map[string]string) {
	if s.Ref != "" {
		if slices.Contains(f.within, s.Ref) {
			return
		}
		f.within = append(f.within, s.Ref)
		defer func() { f.within = f.within[:len(f.within)-1] }()
		s = f.schemas.SchemaFromRef(s.Ref)
	}
	for _, one := range s.OneOf {
		f.walk(one, path, body, out)
	}
	put := func(inner string) string { return strings.Replace(body, "%s", inner, 1) }
	switch s.Type {
	case huma.TypeString:
		out[path] = put(`"a\u0000b"`)
	case huma.TypeArray:
		f.walk(s.Items, path+"[0]", put("[%s]"), out)
	case huma.TypeObject:
		for name, property := range s.Properties {
			f.walk(property, strings.TrimPrefix(path+"."+name, "."), put(fmt.Sprintf(`{%q:%%s}`, name)), out)
		}
		if of, is := s.AdditionalProperties.(*huma.Schema); is {
			f.walk(of, strings.TrimPrefix(path+".k", "."), put(`{"k":%s}`), out)
			out[strings.TrimPrefix(path+".k\uFFFD", ".")] = put(`{"k\u0000":null}`)
		}
	}
}
