package wire

import (
	"github.com/belfry-run/belfry/access"
)

// NewToken is a new token with its secret, which is shown only once.
type NewToken struct {
	Token  access.Token `json:"token"`
	Secret string       `json:"secret" doc:"Keep it; it cannot be had again"`
}
