package page

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The count is never less than the number of nodes that the parser builds.
func FuzzCountedNodes(f *testing.F) {
	for _, text := range []string{
		"<p><b><i><p>x", "<p><b a><b b><p>x<table><td></b></b>x", "<a><table><td><a><p>x</table>y", "<svg><style><b>x</style></svg>y",
		"<script><!--</script><b>x", "<b><select></b><p>x", "<nobr><p><nobr><p>x", "<b><b><b><b><b><p><p>x", "<svg><foreignObject><b></svg><p>x",
		"<b><object></b></object><p>x<template><b></template><p>y", "<xmp><b></xmp><plaintext><b>", "<textarea><b></textarea><title><i>", "<b><marquee></b><p>x</marquee>y",
		"<b c><caption></b><table><caption><i></table>x<p>y", "<math><mi><b></math>x<p>y",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.Repeat(text, min(20, 1+2000/max(1, len(text))))
		z := html.NewTokenizer(strings.NewReader(text))
		p := htmlRewriter{z: z, starts: map[string]int{}}
		for z.Next() != html.ErrorToken {
			p.token(z.Token())
		}
		root, err := html.Parse(strings.NewReader(p.out.String()))
		if err != nil {
			return
		}
		n := 0
		walk(root, func(*html.Node) bool { n++; return true }, nil)
		if n > 2*p.nodes+10 { // head, body, tbody and the like come by themselves
			t.Fatalf("%d nodes, %d counted\n%q", n, p.nodes, text)
		}
	})
}
