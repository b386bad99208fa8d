package wire

// MemberNames are those of a cycle's members.
type MemberNames struct {
	Members []string `json:"members,omitempty" doc:"Default: all members of the cycle"`
}

// TimingReset is whose timing was forgotten.
type TimingReset struct {
	Members []string `json:"members" doc:"They are due"`
}
