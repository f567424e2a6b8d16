//go:build race

package ledger

// millions of messages in the test of the ledger's memory: the race detector makes each ten times as expensive, so npm run test:go
// runs it once more without.
const millions = 1
