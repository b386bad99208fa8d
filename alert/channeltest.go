package alert

import (
	"github.com/belfry-run/belfry/core"
)

// ChannelTest is the result of a test message.
type ChannelTest struct {
	OK    bool          `json:"ok" doc:"It was taken by the service that passes it on"`
	Error string        `json:"error,omitempty" doc:"Why it was not"`
	Took  core.Duration `json:"took" doc:"Until it was taken or not"`
}
