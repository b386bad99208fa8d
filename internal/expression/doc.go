// Package expression is the language of conditions and workflows:
// github.com/expr-lang/expr, cut down to what can be bounded. An expression reads
// what it is given, and neither a file, a variable of the environment nor a clock.
// Each has a number of steps, an amount of memory and a time that it may take.
package expression
