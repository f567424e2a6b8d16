package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// The build information of ./k6 has no version of its main module: `k6 version` showed none of our extensions'.
func TestTheBinaryNamesItsVersion(t *testing.T) {
	t.Parallel()
	version := in(t, "../../../..", nil, "./k6", "version")
	for _, name := range []string{"k6/x/arrival [js]", "arrival [subcommand]", "k6/x/mqtt [js]"} {
		assert.Regexp(t, `(?m) v\Q`+report.Version+`\E, \Q`+name+`\E$`, version)
	}
	assert.Contains(t, version, "xk6-redis v0.4.", "the others keep theirs")
	assert.Contains(t, in(t, "../../../..", nil, "./k6", "x", "arrival", "--version"), report.Version)
}
