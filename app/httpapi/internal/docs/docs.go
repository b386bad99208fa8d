// Package docs renders the OpenAPI document as a page for people. The page has
// no scripts of others and loads nothing from elsewhere; [Policy] is its content
// security policy.
package docs

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/httpapi/wire"
)

//go:embed docs.html
var docsText string

//go:embed docs.css
var Style []byte

var docsPage = template.Must(template.New("docs").Parse(docsText))

// Policy sets a content security policy that allows only the page's own style sheet.
func Policy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.ServeHTTP(w, r)
	})
}

// The parts of the OpenAPI document that the docs page shows.
type (
	docsData struct {
		Title, Version, About string
		Groups                []docsGroup
		Types                 []docsType
		Statuses              []docsStatus
	}
	docsGroup struct {
		Name       string
		Operations []docsOperation
	}
	docsOperation struct {
		ID, Method, Path, Summary, About string
		Parameters                       []docsField
		Body, Answer                     string // names of types
		Example                          string
	}
	docsType struct {
		Name   string
		Fields []docsField
	}
	docsField struct {
		Name, In, Kind, Type, About string // Type is set when Kind names one of Types
		Required, ReadOnly          bool
	}
	docsStatus struct {
		Code   string
		Status int
	}
)

// Render returns the page of the document.
func Render(doc *huma.OpenAPI) ([]byte, error) {
	data := docsData{Title: doc.Info.Title, Version: doc.Info.Version, About: doc.Info.Description}
	groups := map[string][]docsOperation{}
	for path, item := range doc.Paths {
		for method, op := range api.OperationsOf(item) {
			groups[op.Tags[0]] = append(groups[op.Tags[0]], describeOperation(method, path, op))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		slices.SortFunc(groups[name], func(a, b docsOperation) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
		})
		data.Groups = append(data.Groups, docsGroup{name, groups[name]})
	}
	types := doc.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		data.Types = append(data.Types, docsType{name, fieldsOfSchema(types[name])})
	}
	seen := map[string]bool{}
	for _, row := range wire.Statuses {
		if !seen[string(row.Code)] {
			data.Statuses = append(data.Statuses, docsStatus{string(row.Code), row.Status})
		}
		seen[string(row.Code)] = true
	}
	var b bytes.Buffer
	err := docsPage.Execute(&b, data)
	return b.Bytes(), err
}

func describeOperation(method, path string, op *huma.Operation) docsOperation {
	d := docsOperation{ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, About: op.Description}
	for _, p := range op.Parameters {
		kind, name := kindOf(p.Schema)
		d.Parameters = append(d.Parameters, docsField{Name: p.Name, In: p.In, Kind: kind, Type: name, About: p.Description, Required: p.Required})
	}
	if op.RequestBody != nil {
		for _, content := range op.RequestBody.Content {
			_, d.Body = kindOf(content.Schema)
		}
	}
	for _, status := range []string{"200", "201"} {
		if r := op.Responses[status]; r != nil && r.Content["application/json"] != nil {
			_, d.Answer = kindOf(r.Content["application/json"].Schema)
		}
	}
	d.Example = curl(method, path, op)
	return d
}

// curl returns the curl command of a call.
func curl(method, path string, op *huma.Operation) string {
	var b strings.Builder
	b.WriteString(`curl -H "Authorization: Bearer $BELFRY_TOKEN"`)
	stream := op.Responses["200"] != nil && op.Responses["200"].Content[wire.SseType] != nil
	if stream {
		b.WriteString(" -N")
	}
	switch {
	case op.RequestBody != nil && op.RequestBody.Required:
		if method != http.MethodPost {
			b.WriteString(" -X " + method)
		}
		b.WriteString(bodyFlags(op))
	case method != http.MethodGet:
		b.WriteString(" -X " + method)
	}
	fmt.Fprintf(&b, ` "$BELFRY_SERVER%s"`, path)
	return b.String()
}

// bodyFlags returns the flags of curl for a body.
func bodyFlags(op *huma.Operation) string {
	if op.RequestBody.Content["application/json"] != nil {
		return " --json @body.json"
	}
	var kind string
	for kind = range op.RequestBody.Content {
	}
	return fmt.Sprintf(` -H "Content-Type: %s" --data-binary @body`, kind)
}

func fieldsOfSchema(s *huma.Schema) []docsField {
	var fields []docsField
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		kind, typeName := kindOf(p)
		fields = append(fields, docsField{
			Name: name, Kind: kind, Type: typeName, About: p.Description,
			Required: slices.Contains(s.Required, name), ReadOnly: p.ReadOnly,
		})
	}
	return fields
}

// kindOf describes a schema in a word or two, and returns the type that it refers to.
func kindOf(s *huma.Schema) (kind, typeName string) {
	switch {
	case s == nil:
		return "any", ""
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return name, name
	case len(s.OneOf) > 0:
		return kindOf(s.OneOf[0])
	case s.Items != nil:
		kind, name := kindOf(s.Items)
		return "list of " + kind, name
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = fmt.Sprint(e)
		}
		return strings.Join(words, " | "), ""
	case s.Format == "date-time":
		return "time", ""
	case s.Type == huma.TypeString && len(s.Examples) > 0:
		example, _ := json.Marshal(s.Examples[0])
		return "duration, such as " + string(example), ""
	case s.Type == huma.TypeObject:
		if value, ok := s.AdditionalProperties.(*huma.Schema); ok {
			kind, name := kindOf(value)
			return "object of " + kind, name
		}
		return "object", ""
	}
	return cmp.Or(s.Type, "any JSON"), ""
}
