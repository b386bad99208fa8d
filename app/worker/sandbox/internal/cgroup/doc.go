// Package cgroup finds the trees of control groups of this machine. It creates, measures, kills and removes the groups
// of a run.
package cgroup
