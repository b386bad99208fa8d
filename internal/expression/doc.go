// Package expression is the language of conditions and workflows: the part of
// github.com/expr-lang/expr whose work can be bounded. An expression reads only
// its input: no file, environment variable or clock. Its steps, memory and time
// are limited.
package expression
