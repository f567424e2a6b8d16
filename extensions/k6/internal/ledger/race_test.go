//go:build race

package ledger

// raced says that the race detector makes each message ten times as expensive: npm run test:go runs the tests of the ledger's memory without.
const raced = true
