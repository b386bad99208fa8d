// Package cycle decides which member of a cycle runs next. A cycle is a task
// made of an ordered list of tasks that run strictly one after another.
package cycle
