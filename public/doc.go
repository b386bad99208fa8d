// Package public defines status pages, their announcements and their subscribers. Its types are pure: validation, states of an
// announcement, and colours with enough contrast. The packages announcements, monitors and subscribers of the store keep them,
// and app/ui shows them to visitors without a token.
package public
