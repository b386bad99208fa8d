package wire

import (
	"github.com/belfry-run/belfry/access"
)

// NewJoinToken is a new join token with its secret, which is shown only once.
type NewJoinToken struct {
	Token  access.JoinToken `json:"token"`
	Secret string           `json:"secret" doc:"Keep it; it cannot be had again"`
}

// Joining describes the machine that joins.
type Joining struct {
	Name string `json:"name" doc:"What the machine is called; its token gets the same name"`
}
