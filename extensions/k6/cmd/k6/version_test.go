package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Regression: `k6 version` showed no version of our extensions, as ./k6's build information has
// none for its main module.
func TestK6VersionShowsTheExtensionsVersion(t *testing.T) {
	t.Parallel()
	version := in(t, "../../../..", nil, "./k6", "version")
	for _, name := range []string{"k6/x/arrival [js]", "arrival [subcommand]", "k6/x/mqtt [js]"} {
		assert.Regexp(t, `(?m) v\Q`+runfile.Version+`\E, \Q`+name+`\E$`, version)
	}
	assert.Contains(t, version, "xk6-redis v0.4.", "other extensions keep their version")
	assert.Contains(t, in(t, "../../../..", nil, "./k6", "x", "arrival", "--version"), runfile.Version)
}
