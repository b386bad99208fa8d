// Package tree reads YAML and JSON as plain data, where each value knows its place in the file.
package tree
