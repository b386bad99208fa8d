package frame

// Routes are pages and actions by their pattern, as [net/http.ServeMux] has it,
// for an area whose pages are of the type P. An error of a handler
// becomes a page with the API's status.
type Routes[P any] map[string]func(P) error

// Area is the pages of one package, which ask an A of the node.
type Area[A any] struct {
	Routes  map[string]func(*Page, A) error
	Uploads []string // patterns whose handlers read the body of a form with a file, which may be large
}

// NewArea makes an area of its templates, its kind of page and its routes.
func NewArea[A, P any](templates Templates, around func(*Page, A) P, tables ...Routes[P]) Area[A] {
	area := Area[A]{Routes: map[string]func(*Page, A) error{}}
	for _, table := range tables {
		for pattern, handle := range table {
			if area.Routes[pattern] != nil {
				panic("console: " + pattern + " is there twice")
			}
			area.Routes[pattern] = func(p *Page, api A) error {
				view := around(p, api)
				p.Of(view, templates)
				return handle(view)
			}
		}
	}
	return area
}
