//go:build !race

package ledger

const raced = false
