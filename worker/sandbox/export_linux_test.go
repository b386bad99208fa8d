package sandbox

// What tests call that nobody else should.
var (
	KillUser  = killUser
	KillGroup = killGroup
)

// Ready makes a group of version 2 ready to limit its children.
func Ready(own, controller string) (dir, why string) {
	h, why := hierarchy{version: 2, own: own}.ready(controller)
	return h.own, why
}
