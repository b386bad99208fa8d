// Package kill ends all processes of a user, or all descendants of this process.
package kill
