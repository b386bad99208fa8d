package forms

import (
	"bytes"
	"encoding/json"
	"net/url"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
)

// AsText is the definition of a form as one text, which is its tab YAML.
type AsText struct {
	Has  bool // the form has the tab
	Here bool // which is shown
	Text string
}

// Definition is the input of the whole.
func (t AsText) Definition(err error) parts.Field {
	in := parts.NewField("definition", "Definition", "area", t.Text, "YAML or JSON, as the API has it. A removed field gets its default. A secret that is left as shown is kept.", err).Need()
	in.Code = true
	return in
}

// ReadEither reads a form with a tab YAML: its fields by read, or its text. If
// shown is set, a tab was chosen: the form is shown again as t, and nothing is
// saved.
func ReadEither[T any](p *frame.Page, what string, isNew bool, read func() (T, error)) (v T, t AsText, shown bool, err error) {
	do := p.R.PostFormValue("do")
	t.Has, shown = true, do == "form" || do == "yaml" || do == "same"
	if p.R.PostForm.Has("definition") {
		t.Here, t.Text = true, p.R.PostForm.Get("definition")
		if err = p.Site.ReadDefinition(t.Text, what, &v); err == nil && !isNew {
			err = sameName(v, what, p.R.PathValue("name"))
		}
		if do == "form" && err == nil {
			t.Here = false
		}
		return v, t, shown || do == "try", err
	}
	v, err = read()
	if do == "yaml" && err == nil {
		t.Here = true
		t.Text, err = written(p, v, isNew)
	}
	return v, t, shown, err
}

// sameName refuses a text that has another name than the thing that is edited.
func sameName[T any](v T, what, name string) error {
	if said, _ := DocumentOf(v)["name"].(string); said != "" && said != name {
		return core.InvalidField("definition", "", "renames the "+what, "a name stays; create another "+what+" instead")
	}
	return nil
}

// Unshown refuses the way from a text to its form, which cannot show a field of it.
func (t *AsText) Unshown(field, why string) error {
	t.Here = true
	return core.InvalidField("definition", "", field+" "+why, "mend it here first")
}

// KeepsKind is for the way from the text of an edit back to its form, which has the fields of the saved kind alone.
func KeepsKind(p *frame.Page, t *AsText, saved, said string) error {
	if p.R.PostFormValue("do") != "form" || p.R.PathValue("name") == "" || said == saved {
		return nil
	}
	t.Here = true
	return core.InvalidField("definition", said, "is another kind than that of the saved one, whose form has no fields for it", "save it here")
}

// written is a definition without the fields that an edit cannot change.
func written[T any](p *frame.Page, v T, isNew bool) (string, error) {
	doc := DocumentOf(v)
	delete(doc, "namespace")
	if !isNew {
		delete(doc, "name")
	}
	var plain T
	if err := doc.To(&plain); err != nil {
		return "", err
	}
	text, err := plainjson.Marshal(plain)
	if err != nil {
		return "", err
	}
	if rest, nameless := bytes.CutPrefix(text, []byte(`{"name":"",`)); nameless && !isNew { // no edit says it
		text = append([]byte("{"), rest...)
	}
	return p.Site.WriteDefinition(json.RawMessage(text))
}

// ValuesOf are the values of a form that is shown again after [ReadEither]: as
// they were sent, or those of the text that it came from.
func ValuesOf[T any](p *frame.Page, t AsText, err error, v T, groups []InputGroup) url.Values {
	if err != nil || t.Here || !p.R.PostForm.Has("definition") {
		return p.R.PostForm
	}
	values := DocumentOf(v).Values(InputsOf(groups))
	values.Set("version", p.R.PostForm.Get("version"))
	return values
}

// Filled are the values of a form that is shown again after [Meanwhile], as they were sent or those of both, of which the text is
// written anew.
func Filled[T any](p *frame.Page, t *AsText, both *T, values func(T) url.Values) url.Values {
	if both == nil {
		return p.R.PostForm
	}
	Rewrite(p, t, *both)
	return values(*both)
}

// Rewrite writes the text of a form anew, if the form shows it.
func Rewrite[T any](p *frame.Page, t *AsText, v T) {
	if !t.Here {
		return
	}
	if text, err := written(p, v, false); err == nil {
		t.Text = text
	}
}

// ShowAgain shows a form in its other way, or why that cannot be.
func ShowAgain(p *frame.Page, name string, data any, err error) error {
	if err != nil {
		return p.Again(name, data, err)
	}
	return p.Show(name, data)
}
