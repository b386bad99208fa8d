// Package cgroup finds the trees of control groups of this machine, and makes, counts, kills and removes the groups
// of a run.
package cgroup
