// Package tree reads YAML and JSON as plain data, where each value knows its
// place in the file. The importers use it for errors and notes that name line
// and column. Size and depth are bounded.
package tree
