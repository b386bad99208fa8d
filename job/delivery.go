package job

// Ring is one delivery of a ticket by the broker of a queue, such as SQS or NATS
// JetStream. A broker only rings: it may ring twice, late, in any order or not at
// all, and none of that matters, because the job's row is the lease.
type Ring struct {
	Ticket
	Deliveries int    `json:"deliveries" doc:"How often the broker has delivered this message, this time included; 0: it does not say"`
	Receipt    string `json:"receipt" doc:"What the broker calls this delivery"`
}
