package workers

import (
	"maps"
	"testing"
)

func TestAClaimIsLimitedToTheSizeOfOneAnswer(t *testing.T) {
	t.Parallel()
	many := map[string]int{}
	for i := range 300 {
		many[string(rune('a'+i))] = 2
	}
	ones := maps.Clone(many)
	for queue := range ones {
		ones[queue] = 1
	}
	for name, c := range map[string]struct{ want, ahead, cut, left map[string]int }{
		"nothing":         {nil, nil, nil, nil},
		"as many as fit":  {map[string]int{"a": 200, "b": 56}, map[string]int{"a": 9}, map[string]int{"a": 200, "b": 56}, map[string]int{"a": 9}},
		"one queue":       {map[string]int{"a": 10_000}, nil, map[string]int{"a": 256}, nil},
		"ahead goes":      {map[string]int{"a": 300}, map[string]int{"a": 44}, map[string]int{"a": 256}, nil},
		"ahead stays":     {map[string]int{"a": 300}, map[string]int{"a": 50}, map[string]int{"a": 256}, map[string]int{"a": 6}},
		"all ahead":       {map[string]int{"a": 300}, map[string]int{"a": 300}, map[string]int{"a": 256}, map[string]int{"a": 256}},
		"a small queue":   {map[string]int{"a": 1000, "b": 3}, map[string]int{"b": 2}, map[string]int{"a": 128, "b": 3}, map[string]int{"b": 2}},
		"too many queues": {many, nil, ones, nil},
	} {
		before := maps.Clone(c.want)
		if want, ahead := atOnce(c.want, c.ahead); !maps.Equal(want, c.cut) || !maps.Equal(ahead, c.left) {
			t.Errorf("%s: got %v, %v, want %v, %v", name, want, ahead, c.cut, c.left)
		}
		if !maps.Equal(c.want, before) {
			t.Errorf("%s: the question was changed to %v", name, c.want)
		}
	}
}
