// Package config reads the files that people write for Belfry: the
// configuration of a node, and manifests of definitions.
//
// Both are read strictly. An unknown key, a value of the wrong type, a number
// without a unit: each is an error with the file, line and column, the line
// itself, and a suggestion. All faults of a file are reported at once. YAML
// anchors, aliases, merge keys and tags are refused, and the size of a file is
// limited, so that the cost of reading is proportional to its length.
//
// JSON is read as the subset of YAML that it is.
package config
