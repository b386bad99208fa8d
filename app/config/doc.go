// Package config reads the files that people write for Belfry: the
// configuration of a node, and manifests of definitions.
//
// Both are read strictly. An unknown key, a value of the wrong type,
// a number without a unit: each is an error that names the file, line and
// column, shows the line, and says what was probably meant. Every fault of a
// file is told at once. YAML anchors, aliases, merge keys and tags are refused,
// and a file has a size limit, so that reading costs no more than its length.
//
// JSON is read as the subset of YAML that it is.
package config
