package tree

// Empty reports whether a value says nothing, such as {} and [].
func (t *Tree) Empty() bool {
	return t.Kind == Nothing || t.Kind == Sequence && len(t.List) == 0 || t.Kind == Mapping && len(t.Keys) == 0
}
