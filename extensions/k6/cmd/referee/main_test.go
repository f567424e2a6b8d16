package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/truth"
)

func TestServePrintsTheAddressFirstAndTheRecordAtTheEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	out, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- referee(ctx, strings.Fields("serve --truth constant --rate 50 --seconds 2"), to)
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	listens := struct{ Address string }{}
	require.NoError(t, json.Unmarshal(lines.Bytes(), &listens))
	response, err := http.Get("http://" + listens.Address + "/any")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	stop()
	require.True(t, lines.Scan())
	require.NoError(t, <-ended)
	got := truth.Record{}
	require.NoError(t, json.Unmarshal(lines.Bytes(), &got))
	assert.Equal(t, 100, got.Due.Count)
	assert.Equal(t, 1, got.Requests.Answered)
}

func TestTruthsAreListedWithNameTitleAndAbout(t *testing.T) {
	t.Parallel()
	out := strings.Builder{}
	require.NoError(t, referee(t.Context(), []string{"truths"}, &out))
	got := []map[string]string{}
	require.NoError(t, json.Unmarshal([]byte(out.String()), &got))
	require.Len(t, got, len(truth.All))
	for _, one := range got {
		assert.Len(t, one, 3)
		for key, value := range one {
			assert.NotEmpty(t, value, key)
		}
	}
}

func TestAWrongOptionIsRefusedByName(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"":                                   "serve",
		"server":                             `"server"`,
		"serve here":                         `"here"`,
		"serve --truth constant --rate 5":    "--seconds",
		"serve --truth constant --seconds 5": "--rate",
		"serve --truth constant --seconds 5 --rate NaN":               "--rate",
		"serve --truth constant --seconds 5 --rate 1e9":               "10000000",
		"serve --truth constant --seconds 5 --rate 5 --connections 0": "--connections",
		"serve --truth quick --seconds 5 --rate 5":                    "constant",
		"serve --truth constant --seconds 5 --rate 5 --speed 3":       "speed",
	} {
		assert.ErrorContains(t, referee(t.Context(), strings.Fields(args), io.Discard), says, args)
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--help", "serve --help"} {
		out := strings.Builder{}
		require.NoError(t, referee(t.Context(), strings.Fields(args), &out))
		assert.Equal(t, usage, out.String())
	}
}
