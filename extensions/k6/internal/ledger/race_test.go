//go:build race

package ledger

// raced reports whether the race detector is on. It makes each message ten times slower, so npm run
// test:go runs the memory tests without it.
const raced = true
