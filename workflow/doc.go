// Package workflow decides which steps of a workflow begin next, which are
// skipped and why, and when and how its run ends. A workflow is a graph of steps;
// package cycle has the special case of a list that remembers across runs.
package workflow
