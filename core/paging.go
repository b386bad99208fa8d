package core

// Page is a part of a list and where the next part begins. The page of a log has a next cursor even at its end, because
// a log goes on.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"Cursor for the next page; empty on the last"`
	// Looked is set where a search ended before the page was full, because it looks at so many rows at once and no
	// further. Go on with next.
	Looked int `json:"looked,omitempty" doc:"Rows that a search looked at, when it stopped before the page was full; go on with next"`
}

// Paging asks for a part of a list.
type Paging struct {
	Limit  int    `json:"limit,omitempty" doc:"Items per page; default: 50; at most 1000"`
	Cursor string `json:"cursor,omitempty" doc:"Next of the page before"`
}

// Bound is the page size to use.
func (p Paging) Bound() int {
	return min(max(Or(p.Limit, 50), 1), 1000)
}

// Counted is a number that was counted no further than a cap.
type Counted struct {
	Count  int  `json:"count" doc:"At least so many"`
	More   bool `json:"more,omitempty" doc:"There may be more: counting stopped at its cap, or after the rows it looks at"`
	Looked int  `json:"looked,omitempty" doc:"Rows that were looked at because no index answers all of the search"`
}

// Check is one thing that has to be right.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty" doc:"What to do when it is not"`
}
