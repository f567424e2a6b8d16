package facts

// stageAdvice is what to do about a stage that takes most of the time. A pipeline's own stages have none.
var stageAdvice = map[string]string{
	"schedule": "the generator was behind its schedule: give it more cores or senders, or lower the rate",
	"request": "see the CPU of the ingest, and the network before it; " +
		"more ingests share the requests (INGEST_WORKERS)",
	"ingest": "see the CPU of the ingest and of Redis, which has to confirm each write",
	"queue": "messages wait here for a free relay: see the CPU of the relays and of Redis; " +
		"more relays share the queue (RELAY_WORKERS)",
	"relay":    "the broker confirms slowly, or the relay is busy: see the CPU of both",
	"delivery": "see the CPU of the broker and of the generator, and the network between them",
}

// processAdvice is what to do about a process that has no core left, by its role.
var processAdvice = map[string]string{
	"ingest":    "start more ingests (INGEST_WORKERS), or lower the rate",
	"relay":     "start more relays (RELAY_WORKERS), or lower the rate",
	"redis":     "share the queue among several servers, or lower the rate: one Redis uses one core",
	"mosquitto": "share the topics among several brokers, or lower the rate: one Mosquitto uses one core",
}
