// Package base has the shared parts of the importers: their options and results, and the conversion of an entry into a
// definition.
package base
