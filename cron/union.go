package cron

import "time"

// Union merges several series into one; an instant that several of them name comes once.
// Nil members are ignored; without members the series is empty.
func Union(ts ...Times) Times {
	u := make(union, 0, len(ts))
	for _, t := range ts {
		if t != nil {
			u = append(u, t)
		}
	}
	if len(u) == 1 {
		return u[0]
	}
	return u
}

type union []Times

func (u union) Next(t time.Time) time.Time {
	var first time.Time
	for _, ts := range u {
		if n := ts.Next(t); !n.IsZero() && (first.IsZero() || n.Before(first)) {
			first = n
		}
	}
	return first
}

func (u union) Prev(t time.Time) time.Time {
	var last time.Time
	for _, ts := range u {
		if p := ts.Prev(t); !p.IsZero() && p.After(last) {
			last = p
		}
	}
	return last
}
