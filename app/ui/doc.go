// Package ui serves pages for people.
//
// So far these are the public status pages: each is one belfry.Board as HTML,
// as JSON and as an Atom feed of its incidents. They want no token and show the
// board and nothing beyond it. They are plain documents without any script, and
// say so in a strict policy, so a name or a description that turns out to be
// markup has nothing to stand on even if it were not escaped.
//
// A page is read from the database once in a while, however many visitors there
// are: one of them reads, the others wait for it, and all get the same bytes.
// While the database cannot be reached the last page is served, which then says
// how old it is. A page that is gone or was switched off is gone as soon as that
// is known: nothing of it is kept.
package ui
