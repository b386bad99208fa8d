// Package health remembers which kinds of jobs this machine cannot begin at the moment.
package health
