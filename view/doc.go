// Package view has the queries and answers of API and pages that concern several
// nouns. It also has the [Manifest], a document with definitions of all nouns, and
// its comparison with the existing definitions.
package view
