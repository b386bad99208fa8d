// Package gatus reads configurations of Gatus. Package intake calls it and turns
// the result into definitions. An endpoint or setting without an equivalent is
// listed in the notes with the reason.
package gatus
