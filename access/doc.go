// Package access defines rights: tokens and their scopes, namespaces and their
// limits, join tokens, sessions of people, and the audit. Its rules are pure; the
// packages tokens, tasks and websessions of the store keep the rows, and the API
// asks [Allows] before each call. A secret never appears in a type that is shown.
package access
