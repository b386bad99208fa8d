package core

// Page is a part of a list, with the cursor of the next part. The page of a log always has one, because a log can grow.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"Cursor for the next page; empty on the last"`
	// Looked is set if a search stopped before the page was full, because it reads only a limited number of rows at once.
	// Continue with next.
	Looked int `json:"looked,omitempty" doc:"Rows that a search looked at, when it stopped before the page was full; go on with next"`
}

// Paging selects a part of a list.
type Paging struct {
	Limit  int    `json:"limit,omitempty" doc:"Items per page; default: 50; at most 1000. A page of large items has fewer"`
	Cursor string `json:"cursor,omitempty" doc:"Next of the page before"`
}

// Bound returns the page size to use.
func (p Paging) Bound() int {
	return min(max(Or(p.Limit, 50), 1), 1000)
}

// Counted is a number that was counted up to a limit.
type Counted struct {
	Count  int  `json:"count" doc:"At least so many"`
	More   bool `json:"more,omitempty" doc:"There may be more: counting stopped at its cap, or after the rows it looks at"`
	Looked int  `json:"looked,omitempty" doc:"Rows that were looked at because no index answers all of the search"`
}

// Check is one condition of a diagnosis, with its result.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty" doc:"What to do when it is not"`
}
