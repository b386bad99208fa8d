package wire

import (
	"github.com/belfry-run/belfry/access"
)

// NewJoinToken is a join token and its secret, which is shown this once.
type NewJoinToken struct {
	Token  access.JoinToken `json:"token"`
	Secret string           `json:"secret" doc:"Keep it; it cannot be had again"`
}

// Joining is who joins.
type Joining struct {
	Name string `json:"name" doc:"What the machine is called; its token gets the same name"`
}
