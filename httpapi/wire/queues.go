package wire

import (
	"github.com/belfry-run/belfry/access"
)

// NewToken is a token and its secret, which is shown this once.
type NewToken struct {
	Token  access.Token `json:"token"`
	Secret string       `json:"secret" doc:"Keep it; it cannot be had again"`
}
