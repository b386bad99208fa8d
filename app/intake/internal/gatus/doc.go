// Package gatus reads configurations of Gatus.
package gatus
