package mqtt

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// newMosquitto starts a Mosquitto. Of the rules it applies only the user.
func newMosquitto(t *testing.T, r *rules) *testBroker {
	t.Helper()
	require.Empty(t, r.noSubscribe, "Mosquitto's access rules accept every SUBSCRIBE")
	access := "allow_anonymous true"
	if r.username != "" {
		access = "allow_anonymous false\npassword_file " + mosquittoUser(t, r.username, r.password)
	}
	return &testBroker{address: startMosquitto(t, access)[0]}
}

// startMosquitto starts a Mosquitto and returns the addresses of its listeners. Each argument
// configures one.
func startMosquitto(t *testing.T, listeners ...string) (addresses []string) {
	t.Helper()
	for range 3 { // another process may take a port first
		var config strings.Builder
		addresses = nil
		me, err := user.Current()
		require.NoError(t, err)
		// user: a Mosquitto started by root switches to a user who can't read these files.
		// max_…: no limits, so that Mosquitto itself drops no message.
		fmt.Fprintf(&config, "user %s\npersistence false\nlog_dest stderr\nset_tcp_nodelay true\n"+
			"max_inflight_messages 0\nmax_queued_messages 0\nper_listener_settings true\n", me.Username)
		for _, lines := range listeners {
			address := closedPort(t)
			_, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			fmt.Fprintf(&config, "listener %s 127.0.0.1\n%s\n", port, lines)
			addresses = append(addresses, address)
		}
		path := filepath.Join(t.TempDir(), "mosquitto.conf")
		require.NoError(t, os.WriteFile(path, []byte(config.String()), 0o600))
		if runMosquitto(t, path) {
			return addresses
		}
	}
	t.Fatal("Mosquitto did not start: its log is above")
	return nil
}

// runMosquitto starts a Mosquitto and reports whether it runs.
func runMosquitto(t *testing.T, config string) bool {
	t.Helper()
	command := exec.Command(test.Program(t, "mosquitto"), "-c", config)
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	log := bufio.NewScanner(stderr)
	var lines []string
	for log.Scan() {
		if strings.HasSuffix(log.Text(), " running") {
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				_, _ = io.Copy(io.Discard, stderr)
			}()
			t.Cleanup(func() {
				_ = command.Process.Signal(syscall.SIGTERM)
				<-drained
				_ = command.Wait()
			})
			return true
		}
		lines = append(lines, log.Text())
	}
	t.Log(strings.Join(lines, "\n"))
	_ = command.Wait()
	return false
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
