// Package view has what API and pages read that is of several nouns, and
// definitions of all nouns as one document: what it takes to apply a [Manifest]
// and to compare it with what is there.
package view
