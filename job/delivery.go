package job

// Delivery is one message of the broker of a queue, such as SQS or NATS JetStream, that brings a ticket. Messages may come
// twice, late, in any order or not at all. That does no harm, because the lease is in the row of the job.
type Delivery struct {
	Ticket
	Count   int    `json:"deliveries" doc:"How often the broker has delivered this message, this time included; 0: it does not say"`
	Receipt string `json:"receipt" doc:"What the broker calls this delivery"`
}
