package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/belfry-run/belfry/job"
)

// message is the message of a ticket. Unknown fields are ignored, so that nodes
// may be newer than workers.
type message struct {
	Version int `json:"v"`
	job.Ticket
}

const messageVersion = 1

// Encode writes a ticket for a broker: JSON, in printable ASCII.
func Encode(t job.Ticket) []byte {
	text, err := json.Marshal(message{Version: messageVersion, Ticket: t})
	if err != nil {
		panic(err) // a number and a string
	}
	return text
}

// Decode reads a message of a broker. Its error contains nothing of the
// message.
func Decode(text []byte) (job.Ticket, error) {
	var m message
	if len(text) > MaxMessage {
		return job.Ticket{}, fmt.Errorf("it has %d bytes, more than %d", len(text), MaxMessage)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
		return job.Ticket{}, errors.New("it is not JSON of a ticket")
	}
	switch {
	case m.Version != messageVersion:
		return job.Ticket{}, fmt.Errorf("its version is %d, and this Belfry knows %d", m.Version, messageVersion)
	case m.JobID <= 0 || m.Secret == "":
		return job.Ticket{}, errors.New("it names no job or no secret")
	}
	return m.Ticket, nil
}
