package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// plain refuses what would be read in part: a parameter that is given twice, of which one counted, and a body in an encoding,
// which nothing here undoes. A parameter of the path or in a header is refused when it is no text.
func (a *API) plain(c huma.Context, next func(huma.Context)) {
	if err := plainly(c); err != nil {
		r := CallOf(c.Context())
		a.Refuse(c.Context(), r.w, a.orProblem(c.Context(), err))
		return
	}
	next(c)
}

func plainly(c huma.Context) error {
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
