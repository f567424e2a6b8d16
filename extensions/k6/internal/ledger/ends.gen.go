// Code generated from reports/contract/ends.json; DO NOT EDIT.

package ledger

// End is the end of a message.
type End int

// The ends of a message, in the order of its way.
const (
	EndDropped      End = iota // never sent by the generator
	EndRejected                // refused by the ingest, or no connection
	EndUnknown                 // perhaps accepted, never arrived
	EndArrived                 // reached every subscriber
	EndAltered                 // arrived with other content
	EndMisdelivered            // came to another recipient
	EndDeadLettered            // given up by the relay
	EndQueued                  // still in the queue at the end
	EndLost                    // accepted, never arrived
	EndPending                 // in flight when the run was cut off
	ends
)

// Ends are the counts of the ends. A run schedules their sum.
var Ends = [ends]EndCount{
	EndDropped: {
		Count: Count{Name: "dropped", Metric: true,
			at: func(a *Account) *int { return &a.Dropped }},
		Stage:  "schedule",
		Missed: true,
	},
	EndRejected: {
		Count: Count{Name: "rejected", Metric: true, Judged: Always,
			at: func(a *Account) *int { return &a.Rejected }},
		Stage:  "request",
		Missed: true,
		Failed: true,
	},
	EndUnknown: {
		Count: Count{Name: "unknown", Metric: true, Judged: Always,
			Reason: "may have been accepted and never arrived",
			at:     func(a *Account) *int { return &a.Unknown }},
		Stage:  "request",
		Missed: true,
		Failed: true,
	},
	EndArrived: {
		Count: Count{Name: "arrived", Metric: true,
			at: func(a *Account) *int { return &a.Arrived }},
	},
	EndAltered: {
		Count: Count{Name: "altered", Metric: true, Rare: true, Judged: Always,
			Reason: "arrived with other content than was sent (VERIFY=off: the pipeline rewrites messages on purpose)",
			at:     func(a *Account) *int { return &a.Altered }},
		Stage:  "delivery",
		Missed: true,
		Failed: true,
	},
	EndMisdelivered: {
		Count: Count{Name: "misdelivered", Metric: true, Rare: true, Judged: Always,
			Reason: "came to another recipient, and not to each of their own",
			at:     func(a *Account) *int { return &a.Misdelivered }},
		Missed: true,
		Failed: true,
	},
	EndDeadLettered: {
		Count: Count{Name: "dead_lettered", Metric: true, Judged: Always,
			at: func(a *Account) *int { return &a.DeadLettered }},
		Stage:  "relay",
		Missed: true,
		Failed: true,
	},
	EndQueued: {
		Count: Count{Name: "queued", Metric: true, Judged: Always,
			Reason: "were still in the queue",
			at:     func(a *Account) *int { return &a.Queued }},
		Stage:  "queue",
		Missed: true,
		Failed: true,
	},
	EndLost: {
		Count: Count{Name: "lost", Metric: true, Judged: Promised,
			Reason: "were accepted and never arrived",
			at:     func(a *Account) *int { return &a.Lost }},
		Missed: true,
		Failed: true,
	},
	EndPending: {
		Count: Count{Name: "pending", Metric: false, Rare: true,
			at: func(a *Account) *int { return &a.Pending }},
		Open: true,
	},
}

// Beside are the counts of deliveries beside the ends.
var Beside = []Count{
	{Name: "duplicates", Metric: true,
		at: func(a *Account) *int { return &a.Duplicates }},
	{Name: "misdeliveries", Metric: true, Rare: true, Judged: Always,
		Reason: "came to a recipient that they were not for",
		at:     func(a *Account) *int { return &a.Misdeliveries }},
	{Name: "reordered", Metric: true,
		at: func(a *Account) *int { return &a.Reordered }},
	{Name: "negative", Metric: true,
		at: func(a *Account) *int { return &a.Negative }},
	{Name: "foreign", Metric: false,
		at: func(a *Account) *int { return &a.Foreign }},
}
