// Package access says who may do what: tokens and their scopes, namespaces and
// their limits, join tokens, sessions of people, and the audit.
package access
