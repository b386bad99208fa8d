// Package base has what the importers share: what they are given and return, and how an entry becomes a definition.
package base
