package job

// Ring is one delivery of a ticket by the broker of a queue, such as SQS or NATS
// JetStream. Rings may come twice, late, in any order or not at all. That does
// no harm, because the lease is in the row of the job.
type Ring struct {
	Ticket
	Deliveries int    `json:"deliveries" doc:"How often the broker has delivered this message, this time included; 0: it does not say"`
	Receipt    string `json:"receipt" doc:"What the broker calls this delivery"`
}
