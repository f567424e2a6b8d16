package mqtt

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEndTwiceAndWithoutConnect(t *testing.T) { eachBroker(t, testEndTwiceAndWithoutConnect) }

func testEndTwiceAndWithoutConnect(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"never connected", "end", "connected", "end", "async", "end", "done"}, s.run(`
		const client = new Client();
		client.on("end", () => log("end"));
		log("never connected"); client.end(); client.end();
		log("connected"); client.connect(broker); client.end(); client.end();
		log("async"); client.connect(broker);
		Promise.all([client.endAsync(), client.endAsync()]).then(() => client.endAsync()).then(() => log("done"));`))
}

func TestEndLetsCallsInFlightFinish(t *testing.T) { eachBroker(t, testEndLetsCallsInFlightFinish) }

func testEndLetsCallsInFlightFinish(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"end", "published 100"}, s.run(`
		const client = new Client(), all = [];
		client.on("end", () => log("end"));
		client.connect(broker);
		for (let i = 0; i < 100; i++) all.push(client.publishAsync("t", "x", { qos: 2 }));
		Promise.all(all).then(() => log("published", all.length));
		client.end();`))
}

func TestEndAsyncTakesNoMoreCalls(t *testing.T) { eachBroker(t, testEndAsyncTakesNoMoreCalls) }

func testEndAsyncTakesNoMoreCalls(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"false", "not connected: call connect() first, or reconnect() after the connection was lost"},
		s.run(`
		const client = new Client();
		client.connect(broker);
		client.endAsync();
		log(client.connected);
		try { client.publish("t", "x") } catch (e) { log(e.message) }`))
}

func TestConnectWhileEnding(t *testing.T) { eachBroker(t, testConnectWhileEnding) }

func testConnectWhileEnding(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"end", "connected true", "resolved", "end"}, s.run(`
		const client = new Client();
		client.on("end", () => log("end"));
		client.connect(broker);
		client.endAsync().then(() => { log("resolved"); client.end(); });
		client.connect(broker);
		log("connected", client.connected);`))
}

func TestStoppedVUEndsPromptlyWithoutLeaks(t *testing.T) {
	eachBroker(t, testStoppedVUEndsPromptlyWithoutLeaks)
}

func testStoppedVUEndsPromptlyWithoutLeaks(t *testing.T, v int, newBroker brokerMaker) {
	b := newBroker(t, &rules{})
	before := ourGoroutines(t)
	s := newScript(t, v, b).start()
	require.NoError(t, s.VU.Runtime().Set("stopVU", func() { go s.stop() }))
	start := time.Now()
	err := s.iterate(`
		const client = new Client({ client_id: "stopped" });
		let n = 0;
		client.on("message", () => {
			client.publishAsync("flow", "again", { qos: 1 });
			client.publishAsync("flow", "and again");
			if (++n === 200) stopVU();
		});
		client.on("end", () => log("end"));
		client.connect(broker);
		client.subscribe("flow");
		client.publish("flow", "first");`)
	if err != nil {
		require.ErrorContains(t, err, "context canceled") // k6 interrupts a running handler
	}
	assert.Less(t, time.Since(start), 15*time.Second)
	assert.Empty(t, s.lines, "no handler runs in a stopped VU")
	require.Eventually(t, func() bool { return ourGoroutines(t) <= before }, 20*time.Second, time.Millisecond,
		"goroutines leaked: %s", profile(t))
}

func TestThrowingIterationEndsTheClient(t *testing.T) {
	eachVersion(t, testThrowingIterationEndsTheClient)
}

func testThrowingIterationEndsTheClient(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	before := ourGoroutines(t)
	s := newScript(t, v, b).start()
	require.ErrorContains(t, s.iterate(`
		const client = new Client({ client_id: "thrower" });
		client.on("end", () => log("end"));
		client.connect(broker);
		throw new Error("a mistake");`), "a mistake")
	require.ErrorContains(t, s.iterate(`
		const client = new Client();
		client.on("connect", () => { throw new Error("in a handler") });
		client.connect(broker);`), "in a handler")
	assert.Empty(t, s.lines)
	require.Eventually(t, func() bool { return ourGoroutines(t) <= before }, 20*time.Second, time.Millisecond)
	assert.Equal(t, []string{"next iteration true"}, s.run(`
		const client = new Client(); client.connect(broker); log("next iteration", client.connected); client.end()`))
}

func TestNoMetricsAfterTheContextEnded(t *testing.T) {
	eachVersion(t, testNoMetricsAfterTheContextEnded)
}

func testNoMetricsAfterTheContextEnded(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	s := newScript(t, v, b).start()
	_ = s.iterate(`
		const client = new Client();
		client.on("message", () => client.publishAsync("flow", "x"));
		client.connect(broker);
		client.subscribe("flow");
		client.publish("flow", "x");
		throw new Error("over");`)
	s.collected()
	require.NoError(t, b.Publish("flow", []byte("x"), false, 0))
	require.Eventually(t, func() bool { return ourGoroutines(t) == 0 }, 20*time.Second, time.Millisecond)
	assert.Empty(t, s.collected())
}

func TestStopDuringConnectAndDuringAcknowledgement(t *testing.T) {
	eachVersion(t, testStopDuringConnectAndDuringAcknowledgement)
}

func testStopDuringConnectAndDuringAcknowledgement(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	for name, code := range map[string]string{
		"connect": `stopVU(); new Client().connect("` + silentBroker(t, false) + `")`,
		"publish": `const c = new Client(); c.connect("` + silentBroker(t, true) + `"); stopVU(); c.publish("t", "x", { qos: 1 })`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, v, b).start()
			require.NoError(t, s.VU.Runtime().Set("stopVU", func() { time.AfterFunc(20*time.Millisecond, s.stop) }))
			start := time.Now()
			require.Error(t, s.iterate(code))
			assert.Less(t, time.Since(start), 15*time.Second)
			require.Eventually(t, func() bool { return ourGoroutines(t) == 0 }, 20*time.Second, time.Millisecond)
		})
	}
}

// The broker does not resend acknowledged messages. The script gets each of them, or k6's log
// reports how many it did not get.
func TestAcknowledgedMessagesAreHandledOrReported(t *testing.T) {
	eachVersion(t, testAcknowledgedMessagesAreHandledOrReported)
}

func testAcknowledgedMessagesAreHandledOrReported(t *testing.T, v int) {
	const messages = 100
	for name, end := range map[string]struct{ code, err string }{
		"stopped while a handler runs":  {`stop()`, "context canceled"},
		"stopped in an async handler":   {`await new Promise((go) => setTimeout(go, 1)); stop(); await 1`, "context canceled"},
		"a handler throws":              {`throw new Error("a mistake")`, "a mistake"},
		"an async handler rejects":      {`await 1; throw new Error("a mistake")`, "a mistake"},
		"ended by the handler":          {`if (handled === 1) client.end()`, ""},
		"ended without waiting":         {`if (handled === 1) client.endAsync()`, ""},
		"the connection is lost":        {`if (handled === 1) drop("subscriber")`, ""},
		"the script ends without end()": {`if (handled === 50) stop()`, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			acknowledged := make(chan struct{}, messages)
			b := newBroker(t, &rules{acknowledged: acknowledged})
			s := droppable(t, newScript(t, v, b).start(), b)
			rt := s.VU.Runtime()
			handled := 0
			require.NoError(t, rt.Set("handle", func() int { handled++; return handled }))
			require.NoError(t, rt.Set("stop", s.stop))
			require.NoError(t, rt.Set("arrive", func() {
				for i := range messages {
					_ = b.Publish("t", fmt.Append(nil, i), false, 1)
				}
				for range messages {
					<-acknowledged
				}
			}))
			err := s.iterate(`
				const client = new Client({ client_id: "subscriber" });
				client.on("error", () => {});
				client.on("message", async () => { const handled = handle(); ` + end.code + ` });
				client.connect(broker);
				client.subscribe("t", { qos: 1 });
				arrive();`)
			if err != nil || end.err == "a mistake" { // k6 interrupts a stopped VU only if code is running
				require.NotEmpty(t, end.err)
				require.ErrorContains(t, err, end.err)
			}
			reported := 0
			if found := leftOver.FindStringSubmatch(s.logged()); found != nil {
				reported, err = strconv.Atoi(found[1])
				require.NoError(t, err)
			}
			assert.Equal(t, messages, handled+reported, "handled %d, reported %d", handled, reported)
		})
	}
}

var leftOver = regexp.MustCompile(`before its message handler got to (\d+) messages`)

// ourGoroutines returns the number of goroutines of links and wires.
func ourGoroutines(t *testing.T) int {
	t.Helper()
	n := 0
	for _, stack := range strings.Split(profile(t), "\n\n") {
		if strings.Contains(stack, "mqtt.(*wire)") || strings.Contains(stack, "mqtt.(*link)") {
			n++
		}
	}
	return n
}

func profile(t *testing.T) string {
	t.Helper()
	var stacks bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
	return stacks.String()
}
