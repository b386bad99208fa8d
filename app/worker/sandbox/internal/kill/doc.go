// Package kill ends all processes of a user, or all descendants of this process.
// Processes of a user get one signal together, so that none can escape by
// forking; the thread that sends it first drops all rights but this one.
package kill
