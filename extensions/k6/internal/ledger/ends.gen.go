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
	EndDeadLettered            // given up by the relay
	EndQueued                  // still in the queue at the end
	EndLost                    // accepted, never arrived
	EndPending                 // in flight when the run was cut off
	ends
)

// Ends are the counts of the ends. A run schedules their sum.
var Ends = [ends]EndCount{
	EndDropped: {
		Count:  Count{"dropped", true, func(a *Account) *int { return &a.Dropped }},
		Stage:  "schedule",
		Missed: true,
	},
	EndRejected: {
		Count:  Count{"rejected", true, func(a *Account) *int { return &a.Rejected }},
		Stage:  "request",
		Missed: true,
		Failed: true,
		Judged: Always,
	},
	EndUnknown: {
		Count:  Count{"unknown", true, func(a *Account) *int { return &a.Unknown }},
		Reason: "may have been accepted and never arrived",
		Stage:  "request",
		Missed: true,
		Failed: true,
		Judged: Always,
	},
	EndArrived: {
		Count: Count{"arrived", true, func(a *Account) *int { return &a.Arrived }},
	},
	EndAltered: {
		Count:  Count{"altered", true, func(a *Account) *int { return &a.Altered }},
		Reason: "arrived with other content than was sent (VERIFY=off: the pipeline rewrites messages on purpose)",
		Stage:  "delivery",
		Missed: true,
		Failed: true,
		Rare:   true,
		Judged: Always,
	},
	EndDeadLettered: {
		Count:  Count{"dead_lettered", true, func(a *Account) *int { return &a.DeadLettered }},
		Stage:  "relay",
		Missed: true,
		Failed: true,
		Judged: Always,
	},
	EndQueued: {
		Count:  Count{"queued", true, func(a *Account) *int { return &a.Queued }},
		Reason: "were still in the queue",
		Stage:  "queue",
		Missed: true,
		Failed: true,
		Judged: Always,
	},
	EndLost: {
		Count:  Count{"lost", true, func(a *Account) *int { return &a.Lost }},
		Reason: "were accepted and never arrived",
		Missed: true,
		Failed: true,
		Judged: Promised,
	},
	EndPending: {
		Count: Count{"pending", false, func(a *Account) *int { return &a.Pending }},
		Rare:  true,
		Open:  true,
	},
}

// Beside are the counts of deliveries beside the ends.
var Beside = []Count{
	{"duplicates", true, func(a *Account) *int { return &a.Duplicates }},
	{"reordered", true, func(a *Account) *int { return &a.Reordered }},
	{"negative", true, func(a *Account) *int { return &a.Negative }},
	{"foreign", false, func(a *Account) *int { return &a.Foreign }},
}
