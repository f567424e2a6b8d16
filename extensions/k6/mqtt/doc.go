// Package mqtt is the k6 extension k6/x/mqtt: a client of MQTT 3.1.1 or 5 for scripts. It does without the JavaScript
// runtime on any goroutine but the VU's own, and without losing messages between the network and the script.
//
//	import { Client } from "k6/x/mqtt";
//	export default function () {
//	  const client = new Client({ client_id: `vu-${__VU}` });
//	  client.on("message", (topic, payload) => {
//	    console.log(topic, String.fromCharCode(...new Uint8Array(payload)));
//	    client.end();
//	  });
//	  client.connect("mqtt://127.0.0.1:1883");
//	  client.subscribe("greeting", { qos: 1 });
//	  client.publish("greeting", "hello", { qos: 1 });
//	}
//
// The iteration lasts until the client has ended: by end(), because the connection was lost, or because k6 stops the
// VU. index.d.ts documents every member for script authors, and examples/ has a script for each thing it does.
//
// # Order and loss
//
// Messages wait in an unbounded queue, in the order the broker sent them, and run one by one on the event loop, so a
// slow handler costs memory, never a message. The queue can't be bounded: holding the network back would also hold back
// the acknowledgement a blocking publish() waits for. Calls go out in the order the script made them. end() lets
// calls in flight finish (five seconds at most) and the queue run empty before the end event. What an aborted
// iteration leaves in the queue is counted in a warning.
//
// # Time of arrival
//
// The message handler's third argument has the time when the message left the socket. One goroutine of the connection
// reads, takes the time after each read, and queues messages. It never waits: another goroutine writes
// acknowledgements. So the time depends only on how soon that goroutine gets a CPU when bytes arrive, not on event loop
// or broker.
//
// # Versions
//
// A wire is a connection in either version of MQTT, over that of internal/mqtt. A packet that the standard
// forbids ends the connection, with the reason code of MQTT 5. It is a client of our own because Eclipse Paho's take
// most of these packets (paho.mqtt.golang 1.5.1, paho.golang 0.23.0). A SUBACK with too many codes, or a CONNACK with
// an authentication method, panics in their goroutines, which would end k6. A length of five bytes makes paho.golang
// allocate 4 GiB. Both hand a repeated message of QoS 2 on again, and read nothing while the broker does not read their
// acknowledgements, so the time of arrival would be late.
//
// # Connection lost
//
// There is no automatic reconnect. Calls in flight fail and messages that had arrived are delivered. Then the error
// event fires (without a handler: an error in k6's log) and, unless that handler reconnected, the end event.
// reconnect() opens the connection again with the parameters of the last connect(), from any handler or timer;
// subscriptions of a clean session have to be made again.
package mqtt
