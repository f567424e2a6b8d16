package mqtt

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// newMosquitto starts a Mosquitto. Of the rules it applies only the user.
func newMosquitto(t *testing.T, r *rules) *testBroker {
	t.Helper()
	require.Empty(t, r.noSubscribe, "Mosquitto's access rules accept every SUBSCRIBE")
	access := test.Anyone
	if r.username != "" {
		access = "allow_anonymous false\npassword_file " + mosquittoUser(t, r.username, r.password)
	}
	return &testBroker{address: startMosquitto(t, access)[0]}
}

// startMosquitto starts a Mosquitto and returns the addresses of its listeners. Each argument
// configures one.
func startMosquitto(t *testing.T, listeners ...string) (addresses []string) {
	t.Helper()
	return test.StartMosquitto(t, []string{"per_listener_settings true"}, listeners...).Addresses
}

// mosquittoUser writes a password file with one user and returns its path.
func mosquittoUser(t *testing.T, username, password string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(path, []byte(username+":"+password+"\n"), 0o600))
	out, err := exec.Command(test.Program(t, "mosquitto_passwd"), "-U", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}
