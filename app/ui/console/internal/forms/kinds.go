package forms

import (
	"github.com/belfry-run/belfry/core/setting"
)

// SecretHint stands at the inputs of secrets.
const SecretHint = setting.SecretHint

// KindInputs makes inputs of the fields of a kind: those that matter, and those of a drawer. The prefix is the path of the
// kind's settings, with a dot.
func KindInputs(prefix string, fields []setting.Field) (main, more []Input) {
	for _, f := range fields {
		if f.Label == "" {
			continue
		}
		in := Input{Path: prefix + f.Path, Label: f.Label, Kind: inputKind(f.As), Hint: f.Hint, Options: f.Options, Need: f.Need}
		if f.As == setting.File {
			in.Kind = AsArea
		}
		if f.More {
			more = append(more, in)
		} else {
			main = append(main, in)
		}
	}
	return main, more
}
