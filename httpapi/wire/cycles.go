package wire

// MemberNames are names of members of a cycle.
type MemberNames struct {
	Members []string `json:"members,omitempty" doc:"Default: all members of the cycle"`
}

// TimingReset lists the members whose timing was reset.
type TimingReset struct {
	Members []string `json:"members" doc:"They are due"`
}
