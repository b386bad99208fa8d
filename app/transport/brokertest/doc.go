// Package brokertest tests the brokers of package transport against whole
// servers: nats-server in this process, and fauxqs, which speaks the protocol of
// SQS, as a process of Node.js. Both drivers pass one suite, and jobs of a real
// store arrive through both, once each, however badly they are treated.
//
// setup.sh installs what is missing.
package brokertest
