//go:build !race

package ledger

// millions of messages in the test of the ledger's memory.
const millions = 10
