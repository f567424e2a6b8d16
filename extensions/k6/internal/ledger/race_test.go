//go:build race

package ledger

// raced reports whether the race detector is on. It makes each message ten times slower, so only
// npm test, which has no race detector, runs the memory tests.
const raced = true
