package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// checked refuses requests that would be misread: a parameter that is given twice, an encoded body, and a parameter of the path
// or of a header that is not text.
func (a *API) checked(c huma.Context, next func(huma.Context)) {
	if err := requestFault(c); err != nil {
		r := CallOf(c.Context())
		a.Refuse(c.Context(), r.w, a.orProblem(c.Context(), err))
		return
	}
	next(c)
}

func requestFault(c huma.Context) error {
	if encoding := c.Header("Content-Encoding"); encoding != "" && encoding != "identity" {
		e := core.Errorf(core.Invalid, "the body is encoded as %s", wire.Shorten(encoding)).WithHint("send it as it is, without the header Content-Encoding")
		return newProblem(http.StatusUnsupportedMediaType, e)
	}
	for _, p := range c.Operation().Parameters {
		value := ""
		switch p.In {
		case "path":
			value = c.Param(p.Name)
		case "header":
			value = c.Header(p.Name)
		}
		if err := textFault(p.Name, value); err != nil {
			return err
		}
	}
	u := c.URL()
	for name, values := range u.Query() {
		if len(values) > 1 {
			return core.InvalidField(name, wire.Shorten(strings.Join(values, ", ")), fmt.Sprintf("is given %d times", len(values)), "give it once; lists are separated by commas")
		}
	}
	return nil
}
